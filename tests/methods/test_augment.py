"""Augmentations against colorsys, numpy and loops over pixels; what is drawn has the published ranges."""

from __future__ import annotations

import colorsys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import vmap

from puoc.methods.training import augment

SIDE = 9


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def images(n: int = 4, channels: int = 3, side: int = SIDE, seed: int = 0) -> Tensor:
    return torch.rand(n, channels, side, side, generator=generator(seed), dtype=torch.float64)


def unchanged(n: int, side: int = SIDE) -> dict[str, Tensor]:
    ones, zeros = torch.ones(8, n, dtype=torch.float64), torch.zeros(8, n, dtype=torch.float64)
    return {
        "mirror": torch.zeros(2, n, dtype=torch.bool),
        "contrast_first": torch.tensor(True),
        "contrast": ones,
        "hue": zeros,
        "saturation": ones,
        "value": ones,
        "grey": zeros.bool(),
        "box": torch.tensor([0.0, 0.0, side, side], dtype=torch.float64).expand(8, n, 4),
    }


def pixels() -> NDArray[Any]:
    """(n, 3): random ones, all pairs of equal channels, greys, black and white."""
    rng = np.random.default_rng(0)
    ties = [(0.2, 0.2, 0.7), (0.7, 0.2, 0.2), (0.2, 0.7, 0.2), (0.7, 0.7, 0.2), (0.2, 0.7, 0.7), (0.7, 0.2, 0.7)]
    greys = [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.3, 0.3, 0.3)]
    return np.concatenate([rng.random((200, 3)), np.array(ties), np.array(greys), np.eye(3)])


def as_images(rows: NDArray[Any]) -> Tensor:
    """One pixel an image."""
    return torch.from_numpy(rows).view(-1, 3, 1, 1)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("first", [True, False])
def test_parameters_that_change_nothing_give_the_image_at_each_angle(channels: int, first: bool) -> None:
    x = images(channels=channels)
    copies = augment.views(x, unchanged(4) | {"contrast_first": torch.tensor(first)}).numpy()
    assert copies.shape == (32, channels, SIDE, SIDE)
    for view in range(2):
        for turns in range(4):
            for i in range(4):
                turned = np.rot90(x[i].numpy(), turns, (1, 2))
                np.testing.assert_allclose(copies[(view * 4 + turns) * 4 + i], turned, rtol=0, atol=1e-12)


def test_each_view_is_mirrored_by_itself_before_it_is_rotated() -> None:
    x, which = images(3), torch.tensor([[True, False, False], [False, False, True]])
    copies = augment.views(x, unchanged(3) | {"mirror": which}).view(2, 4, 3, 3, SIDE, SIDE).numpy()
    for view in range(2):
        for i in range(3):
            start = x[i].numpy()[..., ::-1] if which[view, i] else x[i].numpy()
            for turns in range(4):
                np.testing.assert_allclose(copies[view, turns, i], np.rot90(start, turns, (1, 2)), atol=1e-12)


def test_hue_saturation_and_value_are_those_of_colorsys_and_lead_back() -> None:
    rows = pixels()
    h, s, v = (part.flatten().numpy() for part in augment.rgb_to_hsv(as_images(rows)))
    expected = np.array([colorsys.rgb_to_hsv(*row) for row in rows])
    np.testing.assert_allclose(np.column_stack([h, s, v]), expected, atol=1e-12)
    back = augment.hsv_to_rgb(*augment.rgb_to_hsv(as_images(rows))).flatten(1).numpy()
    np.testing.assert_allclose(back, rows, atol=1e-12)


def test_colours_shift_as_in_colorsys() -> None:
    rows, rng = pixels(), np.random.default_rng(1)
    hue = rng.uniform(-0.1, 0.1, len(rows))
    saturation, value = rng.uniform(0.6, 1.4, (2, len(rows)))
    got = augment.shift_colours(as_images(rows), *map(torch.from_numpy, (hue, saturation, value))).flatten(1).numpy()
    for row, dh, fs, fv, colour in zip(rows, hue, saturation, value, got, strict=True):
        h, s, v = colorsys.rgb_to_hsv(*row)
        np.testing.assert_allclose(
            colour, colorsys.hsv_to_rgb((h + dh) % 1, min(s * fs, 1), min(v * fv, 1)), atol=1e-12
        )


def test_an_image_of_one_channel_has_neither_hue_nor_saturation() -> None:
    x, factor = images(channels=1), torch.tensor([0.6, 1.0, 1.2, 1.4], dtype=torch.float64)
    got = augment.shift_colours(x, factor, factor, factor)
    torch.testing.assert_close(got, (x * factor.view(4, 1, 1, 1)).clamp(max=1))
    assert torch.equal(augment.grey(x, torch.ones(4, dtype=torch.bool)), x)


def test_contrast_scales_distances_from_the_mean_of_a_channel() -> None:
    x, factor = images(), np.array([0.6, 1.0, 1.3, 1.4])
    got = augment.scale_contrast(x, torch.from_numpy(factor)).numpy()
    for i in range(4):
        for c in range(3):
            one = x[i, c].numpy()
            np.testing.assert_allclose(
                got[i, c], np.clip(one.mean() + factor[i] * (one - one.mean()), 0, 1), atol=1e-12
            )


@pytest.mark.parametrize("first", [True, False])
def test_contrast_comes_before_or_after_the_other_colours(first: bool) -> None:
    x, rng = images(), np.random.default_rng(2)
    contrast, saturation, value = torch.from_numpy(rng.uniform(0.6, 1.4, (3, 4)))
    hue = torch.from_numpy(rng.uniform(-0.07, 0.07, 4))
    got = augment.jitter(x, torch.tensor(first), contrast, hue, saturation, value)
    colours: Callable[[Tensor], Tensor] = lambda y: augment.shift_colours(y, hue, saturation, value)  # noqa: E731
    orders = [
        colours(augment.scale_contrast(x, contrast)),
        augment.scale_contrast(colours(x), contrast),
    ]
    torch.testing.assert_close(got, orders[0 if first else 1], rtol=0, atol=1e-12)
    assert (orders[0] - orders[1]).abs().max() > 0.01


def test_grey_is_the_luma_in_all_channels() -> None:
    x, which = images(), torch.tensor([True, False, True, False])
    got = augment.grey(x, which).numpy()
    for i in range(4):
        r, g, b = x[i].numpy()
        luma = 0.299 * r + 0.587 * g + 0.114 * b
        np.testing.assert_allclose(got[i], np.stack([luma] * 3) if which[i] else x[i].numpy(), atol=1e-12)


def test_a_crop_is_enlarged_by_linear_interpolation_between_centres_of_pixels() -> None:
    x, boxes = images(), [(0, 0, 9, 9), (2, 3, 4, 5), (8, 0, 1, 9), (0, 6, 3, 3)]
    got = augment.crop(x, torch.tensor(boxes, dtype=torch.float64)).numpy()
    for i, (left, top, width, height) in enumerate(boxes):
        for row in range(SIDE):
            for column in range(SIDE):
                across = np.clip(left + (column + 0.5) * width / SIDE - 0.5, 0, SIDE - 1)
                down = np.clip(top + (row + 0.5) * height / SIDE - 0.5, 0, SIDE - 1)
                a, d = min(int(across), SIDE - 2), min(int(down), SIDE - 2)
                p, q, one = across - a, down - d, x[i].numpy()
                upper = (1 - p) * one[:, d, a] + p * one[:, d, a + 1]
                lower = (1 - p) * one[:, d + 1, a] + p * one[:, d + 1, a + 1]
                np.testing.assert_allclose(got[i, :, row, column], (1 - q) * upper + q * lower, atol=1e-12)


@pytest.mark.parametrize("side", [8, 32])
def test_boxes_lie_inside_and_have_the_published_areas_and_aspects(side: int) -> None:
    boxes = augment.draw_boxes(20_000, side, generator(), torch.float32).numpy()
    left, top, width, height = boxes.T
    assert np.array_equal(boxes, boxes.round())
    assert min(left.min(), top.min()) == 0
    assert min(width.min(), height.min()) >= 1
    assert (left + width).max() == (top + height).max() == side
    # half a pixel of rounding on each side
    assert ((width + 0.5) * (height + 0.5) >= 0.08 * side**2).all()
    assert ((width + 0.5) / (height - 0.5) >= 3 / 4).all()
    assert ((width - 0.5) / (height + 0.5) <= 4 / 3).all()
    room = side - width
    assert (left[room > 0] / room[room > 0]).mean() == pytest.approx(0.5, abs=0.01)
    if side == 32:  # U(0.08, 1), without the large areas whose aspect does not fit
        assert 0.48 < (width * height / side**2).mean() < 0.52
        assert np.log(width / height).mean() == pytest.approx(0, abs=0.01)


def test_the_first_candidate_that_fits_is_taken_and_else_the_full_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(augment, "_ASPECT", (3.0, 4.0))
    boxes = augment.draw_boxes(2000, 8, generator(), torch.float64)
    full = (boxes == torch.tensor([0, 0, 8, 8])).all(dim=-1)
    assert full.double().mean() < 0.1  # three candidates of ten fit
    assert (boxes[~full, 2] > boxes[~full, 3]).all()
    monkeypatch.setattr(augment, "_ASPECT", (70.0, 80.0))
    assert augment.draw_boxes(5, 8, generator(), torch.float64).tolist() == [[0, 0, 8, 8]] * 5


def test_what_is_drawn_has_the_published_ranges_and_shares() -> None:
    drawn = augment.draw_views(5000, 32, True, generator(), torch.float64)
    jittered = drawn["contrast"] != 1
    assert float(jittered.double().mean()) == pytest.approx(0.8, abs=0.01)
    assert float(drawn["grey"].double().mean()) == pytest.approx(0.2, abs=0.01)
    assert float(drawn["mirror"].double().mean()) == pytest.approx(0.5, abs=0.02)
    for name, centre, spread in (
        ("contrast", 1, 0.4),
        ("saturation", 1, 0.4),
        ("value", 1, 0.4),
        ("hue", 0, 0.1 * 255 / 360),
    ):
        values = drawn[name] - centre
        assert torch.equal(values != 0, jittered)
        assert float(values.abs().max()) == pytest.approx(spread, rel=1e-3)
        assert float(values[jittered].mean()) == pytest.approx(0, abs=0.02 * spread)
        assert float(values[jittered].std()) == pytest.approx(spread / 3**0.5, rel=0.02)
    coins = [
        bool(augment.draw_views(1, 8, True, generator(seed), torch.float64)["contrast_first"]) for seed in range(200)
    ]
    assert 70 < sum(coins) < 130
    assert not augment.draw_views(500, 8, False, generator(), torch.float64)["mirror"].any()


@pytest.mark.parametrize("channels", [1, 3])
def test_views_are_those_of_each_lane_under_vmap(channels: int) -> None:
    x = torch.stack([images(channels=channels, seed=lane) for lane in range(3)])
    lanes = [augment.draw_views(4, SIDE, True, generator(lane), torch.float64) for lane in range(3)]
    drawn = {name: torch.stack([lane[name] for lane in lanes]) for name in lanes[0]}
    got = vmap(augment.views)(x, drawn)
    for i, lane in enumerate(lanes):
        torch.testing.assert_close(got[i], augment.views(x[i], lane), rtol=0, atol=1e-12)
    assert got.min() >= 0
    assert got.max() <= 1
