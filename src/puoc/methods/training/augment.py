"""Augmentations of batches of images, as in CSI (Tack et al., 2020). Random numbers are drawn first and passed in.

Images are (n, channels, side, side) in [0, 1], of one channel or of red, green and blue. A parameter has one value for
each image. All functions except those that draw work under ``torch.func.vmap``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import grid_sample

ANGLES = 4  # rotations by 0, 90, 180 and 270 degrees
COPIES = 2 * ANGLES  # of an image in a batch: two views at each angle

_JITTERED = 0.8  # probability
_FACTOR = 0.4  # contrast, saturation and value are multiplied by 1 +- this at most
_HUE = 0.1 * 255 / 360  # of a full turn; the released code's conversion of 0.1
_GREY = 0.2  # probability
_LUMA = (0.299, 0.587, 0.114)
_AREA = (0.08, 1.0)  # share of the image that a crop keeps
_ASPECT = (3 / 4, 4 / 3)
_CANDIDATES = 10  # crops drawn for an image, of which the first that fits is taken


def draw_views(n: int, side: int, mirrored: bool, gen: torch.Generator, dtype: torch.dtype) -> dict[str, Tensor]:
    """Draw the parameters of ``views`` for n images of ``side`` pixels, on the CPU.

    They have shape (8, n), except ``mirror`` (2, n), ``box`` (8, n, 4) and ``contrast_first`` (), one for the batch.
    """

    def uniform(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(COPIES, n, generator=gen, dtype=dtype)

    def happens(probability: float, *shape: int) -> Tensor:
        return torch.rand(shape, generator=gen, dtype=dtype) < probability

    jittered = happens(_JITTERED, COPIES, n).to(dtype)  # parameters of the other images change nothing
    return {
        "mirror": happens(0.5 if mirrored else 0.0, 2, n),
        "contrast_first": happens(0.5),
        "contrast": 1 + jittered * uniform(-_FACTOR, _FACTOR),
        "hue": jittered * uniform(-_HUE, _HUE),
        "saturation": 1 + jittered * uniform(-_FACTOR, _FACTOR),
        "value": 1 + jittered * uniform(-_FACTOR, _FACTOR),
        "grey": happens(_GREY, COPIES, n),
        "box": draw_boxes(COPIES * n, side, gen, dtype).view(COPIES, n, 4),
    }


def draw_boxes(n: int, side: int, gen: torch.Generator, dtype: torch.dtype) -> Tensor:
    """Draw crops (n, 4) in whole pixels: left, top, width, height. If no candidate fits, the crop is the full image."""
    area, aspect = torch.rand(2, _CANDIDATES, n, generator=gen, dtype=dtype)
    area = side**2 * (_AREA[0] + (_AREA[1] - _AREA[0]) * area)
    low, high = map(math.log, _ASPECT)
    aspect = torch.exp(low + (high - low) * aspect)
    sizes = torch.stack([(area * aspect).sqrt().round(), (area / aspect).sqrt().round()], dim=-1)
    fits = ((sizes >= 1) & (sizes <= side)).all(dim=-1)  # (candidates, n)
    size = sizes[fits.to(torch.int8).argmax(dim=0), torch.arange(n)]
    size = torch.where(fits.any(dim=0).unsqueeze(-1), size, side)
    room = side - size
    place = torch.floor(torch.rand(n, 2, generator=gen, dtype=dtype) * (room + 1))
    return torch.cat([torch.minimum(place, room), size], dim=-1)


def views(x: Tensor, drawn: dict[str, Tensor]) -> Tensor:
    """Return eight copies (8n, ...) of images (n, ...): two views with four rotations each.

    The copies of one view and rotation follow each other, in the order of x. A view is mirrored before it is rotated.
    Then every copy gets its own colours and its own crop.
    """
    drawn = {name: value.flatten(0, 1) if name in _OF_COPIES else value for name, value in drawn.items()}
    x = torch.cat([rotate(mirror(x, drawn["mirror"][view])) for view in range(2)])
    x = jitter(x, drawn["contrast_first"], *(drawn[name] for name in ("contrast", "hue", "saturation", "value")))
    return crop(grey(x, drawn["grey"]), drawn["box"])


_OF_COPIES = ("contrast", "hue", "saturation", "value", "grey", "box")


def mirror(x: Tensor, which: Tensor) -> Tensor:
    """Mirror the images for which ``which`` (n,) is true."""
    return torch.where(_each(which), x.flip(-1), x)


def rotate(x: Tensor) -> Tensor:
    """Return copies (4n, ...) rotated counter-clockwise by 0, 90, 180 and 270 degrees, grouped by angle."""
    return torch.cat([torch.rot90(x, turns, (-2, -1)) for turns in range(ANGLES)])


def jitter(
    x: Tensor, contrast_first: Tensor, contrast: Tensor, hue: Tensor, saturation: Tensor, value: Tensor
) -> Tensor:
    """Apply colour jitter: contrast, then hue, saturation and value, or in the other order."""
    # contrast at both places, at one of them with the factor 1, so that nothing branches on a tensor
    before = torch.where(contrast_first, contrast, torch.ones_like(contrast))
    after = torch.where(contrast_first, torch.ones_like(contrast), contrast)
    return scale_contrast(shift_colours(scale_contrast(x, before), hue, saturation, value), after)


def scale_contrast(x: Tensor, factor: Tensor) -> Tensor:
    """Scale the distances from each channel's mean over the image by a factor (n,), clipped to [0, 1]."""
    mean, factor = x.mean(dim=(-2, -1), keepdim=True), _each(factor)
    return (x * factor + mean * (1 - factor)).clamp(0, 1)


def shift_colours(x: Tensor, hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    """Shift the hue by a part of a turn, and scale saturation and value, all (n,). Grey images have only a value."""
    if x.shape[-3] == 1:
        return (x * _each(value)).clamp(0, 1)
    h, s, v = rgb_to_hsv(x)
    return hsv_to_rgb(
        h + _each(hue)[..., 0, :, :],
        (s * _each(saturation)[..., 0, :, :]).clamp(0, 1),
        (v * _each(value)[..., 0, :, :]).clamp(0, 1),
    )


def rgb_to_hsv(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return hue (1 is a turn), saturation and value of images, (n, side, side) each. The hue of grey is 0."""
    r, g, b = x.unbind(-3)
    v = x.amax(dim=-3)
    spread = v - x.amin(dim=-3)
    tiny = torch.finfo(x.dtype).tiny
    per_spread = 1 / spread.clamp(min=tiny)  # times a difference of 0 where the spread is 0
    green = torch.where(v == g, 2 + (b - r) * per_spread, 4 + (r - g) * per_spread)
    h = torch.where(v == r, (g - b) * per_spread, green)
    return h / 6 % 1, spread / v.clamp(min=tiny), v


def hsv_to_rgb(h: Tensor, s: Tensor, v: Tensor) -> Tensor:
    """Return images (n, 3, side, side) from hue, saturation and value; the hue is taken modulo 1."""
    start = torch.tensor([5.0, 3.0, 1.0], device=h.device, dtype=h.dtype).view(3, 1, 1)
    place = (start + 6 * h.unsqueeze(-3)) % 6
    return v.unsqueeze(-3) - (v * s).unsqueeze(-3) * torch.minimum(place, 4 - place).clamp(0, 1)


def grey(x: Tensor, which: Tensor) -> Tensor:
    """Replace all channels by the luma in the images for which ``which`` (n,) is true."""
    if x.shape[-3] == 1:
        return x
    weights = torch.tensor(_LUMA, device=x.device, dtype=x.dtype).view(3, 1, 1)
    return torch.where(_each(which), (x * weights).sum(dim=-3, keepdim=True), x)


def crop(x: Tensor, box: Tensor) -> Tensor:
    """Enlarge the part of images in a box (n, 4) (left, top, width, height; pixels) to their full size, bilinearly.

    Pixels are areas (``align_corners=False``); the values of the border are repeated beyond it.
    """
    side = x.shape[-1]
    centres = (torch.arange(side, device=x.device, dtype=x.dtype) + 0.5) / side
    # edges of the image lie at -1 and 1
    across = 2 * (box[:, 0:1] + box[:, 2:3] * centres) / side - 1  # (n, side)
    down = 2 * (box[:, 1:2] + box[:, 3:4] * centres) / side - 1
    shape = (*across.shape, side)
    grid = torch.stack([across.unsqueeze(-2).expand(shape), down.unsqueeze(-1).expand(shape)], dim=-1)
    return grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=False)


def _each(values: Tensor) -> Tensor:
    """Reshape one value per image, (n,), to (n, 1, 1, 1)."""
    return values.view(-1, 1, 1, 1)
