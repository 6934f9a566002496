"""
Which molecules are alike?
==========================

Chemists compare molecules by the Tanimoto similarity of counts of their pieces: what two molecules
have in common, over all that they have.
That is the min-max kernel.
Here are fifty drugs of ten families, written as SMILES.

Pieces are runs of up to five symbols of that notation, which needs no chemistry package.
Fingerprints of such a package, for example Morgan counts of RDKit, are better: they do not depend
on how a molecule was written down.
"""

import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from kernelight import GCWS
from kernelight.kernels import MinMax
from kernelight.neighbors import MinMaxNeighbors

DRUGS = """
opioids
  morphine          CN1CCC23C4C1CC5=C2C(=C(C=C5)O)OC3C(C=C4)O
  codeine           CN1CCC23C4C1CC5=C2C(=C(C=C5)OC)OC3C(C=C4)O
  diacetylmorphine  CN1CCC23C4C1CC5=C2C(=C(C=C5)OC(C)=O)OC3C(C=C4)OC(C)=O
  hydromorphone     CN1CCC23C4C1CC5=C2C(=C(C=C5)O)OC3C(=O)CC4
  hydrocodone       CN1CCC23C4C1CC5=C2C(=C(C=C5)OC)OC3C(=O)CC4
xanthines
  caffeine          CN1C(=O)N(C)C(=O)C2=C1N=CN2C
  theophylline      CN1C(=O)N(C)C(=O)C2=C1N=CN2
  theobromine       CN1C(=O)NC(=O)C2=C1N=CN2C
  paraxanthine      N1C(=O)N(C)C(=O)C2=C1N=CN2C
  pentoxifylline    CN1C(=O)N(CCCCC(C)=O)C(=O)C2=C1N=CN2C
benzodiazepines
  diazepam          CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21
  nordazepam        N1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21
  oxazepam          N1C(=O)C(O)N=C(c2ccccc2)c2cc(Cl)ccc21
  temazepam         CN1C(=O)C(O)N=C(c2ccccc2)c2cc(Cl)ccc21
  lorazepam         N1C(=O)C(O)N=C(c2ccccc2Cl)c2cc(Cl)ccc21
penicillins
  penicillin G      CC1(C)SC2C(NC(=O)Cc3ccccc3)C(=O)N2C1C(=O)O
  penicillin V      CC1(C)SC2C(NC(=O)COc3ccccc3)C(=O)N2C1C(=O)O
  ampicillin        CC1(C)SC2C(NC(=O)C(N)c3ccccc3)C(=O)N2C1C(=O)O
  amoxicillin       CC1(C)SC2C(NC(=O)C(N)c3ccc(O)cc3)C(=O)N2C1C(=O)O
  oxacillin         CC1(C)SC2C(NC(=O)c3c(C)onc3-c3ccccc3)C(=O)N2C1C(=O)O
steroids
  testosterone      CC12CCC3C(CCC4=CC(=O)CCC34C)C1CCC2O
  androstenedione   CC12CCC3C(CCC4=CC(=O)CCC34C)C1CCC2=O
  progesterone      CC12CCC3C(CCC4=CC(=O)CCC34C)C1CCC2C(C)=O
  hydrocortisone    CC12CC(O)C3C(CCC4=CC(=O)CCC34C)C1CCC2(O)C(=O)CO
  prednisolone      CC12CC(O)C3C(CCC4=CC(=O)C=CC34C)C1CCC2(O)C(=O)CO
beta blockers
  propranolol       CC(C)NCC(O)COc1cccc2ccccc12
  pindolol          CC(C)NCC(O)COc1cccc2[nH]ccc12
  atenolol          CC(C)NCC(O)COc1ccc(CC(N)=O)cc1
  metoprolol        CC(C)NCC(O)COc1ccc(CCOC)cc1
  bisoprolol        CC(C)NCC(O)COc1ccc(COCCOC(C)C)cc1
sulfonamides
  sulfanilamide     Nc1ccc(cc1)S(=O)(=O)N
  sulfadiazine      Nc1ccc(cc1)S(=O)(=O)Nc1ncccn1
  sulfamethoxazole  Nc1ccc(cc1)S(=O)(=O)Nc1cc(C)on1
  sulfathiazole     Nc1ccc(cc1)S(=O)(=O)Nc1nccs1
  sulfapyridine     Nc1ccc(cc1)S(=O)(=O)Nc1ccccn1
barbiturates
  barbital          CCC1(CC)C(=O)NC(=O)NC1=O
  phenobarbital     CCC1(c2ccccc2)C(=O)NC(=O)NC1=O
  pentobarbital     CCCC(C)C1(CC)C(=O)NC(=O)NC1=O
  amobarbital       CCC1(CCC(C)C)C(=O)NC(=O)NC1=O
  secobarbital      CCCC(C)C1(CC=C)C(=O)NC(=O)NC1=O
quinolones
  norfloxacin       O=C(O)c1cn(CC)c2cc(N3CCNCC3)c(F)cc2c1=O
  pefloxacin        O=C(O)c1cn(CC)c2cc(N3CCN(C)CC3)c(F)cc2c1=O
  ciprofloxacin     O=C(O)c1cn(C2CC2)c2cc(N3CCNCC3)c(F)cc2c1=O
  enrofloxacin      O=C(O)c1cn(C2CC2)c2cc(N3CCN(CC)CC3)c(F)cc2c1=O
  danofloxacin      O=C(O)c1cn(C2CC2)c2cc(N3CC4CC3CN4C)c(F)cc2c1=O
profens
  ibuprofen         CC(C)Cc1ccc(cc1)C(C)C(=O)O
  naproxen          COc1ccc2cc(ccc2c1)C(C)C(=O)O
  ketoprofen        c1ccc(cc1)C(=O)c1cccc(c1)C(C)C(=O)O
  fenoprofen        c1ccc(cc1)Oc1cccc(c1)C(C)C(=O)O
  flurbiprofen      c1ccc(cc1)-c1ccc(cc1F)C(C)C(=O)O
"""


def pieces(smiles):
    """Runs of one to five symbols; numbers of rings are left out, because they are arbitrary."""
    symbols = re.findall(r"\[[^]]+\]|Br|Cl|[^\d]", smiles)
    return [
        "".join(symbols[at : at + n]) for n in range(1, 6) for at in range(len(symbols) - n + 1)
    ]


family, names, smiles, heading = [], [], [], ""
for line in DRUGS.strip().splitlines():
    if line.startswith(" "):
        name, written = line.strip().rsplit(maxsplit=1)
        names.append(name.strip())
        smiles.append(written)
        family.append(heading)
    else:
        heading = line
counts = CountVectorizer(analyzer=pieces).fit_transform(smiles).astype(float)

exact = MinMax()(counts)
gcws = GCWS(n_components=512).fit(counts)
codes = gcws.encode(counts)
both = np.where(np.tri(len(names), k=-1) > 0, gcws.similarity(codes), exact)

fig, ax = plt.subplots(figsize=(5.4, 4.9), layout="constrained")
image = ax.imshow(both, cmap="Oranges", aspect="auto", vmin=0, vmax=1)
places = np.arange(2, len(names), 5)
ax.set_yticks(places, family[::5])
ax.set_xticks([])
ax.tick_params(length=0)
ax.spines[:].set_visible(False)
ax.text(48, 3, "exact", ha="right", va="center", weight="bold")
ax.text(1, 47, "by codes of 512 bytes", va="center", weight="bold")
fig.colorbar(image, ax=ax, location="bottom", shrink=0.8, aspect=40, pad=0.02, label="similarity")
plt.show()

# %%
# A line and a column for each molecule, in the order of the list.
# Families are squares along the diagonal, some of them tighter than others.
# Above the diagonal are exact similarities, and below it those that codes estimate.
# A code has 512 bytes, however large the molecule.

below = np.tril_indices(len(names), -1)
error = np.abs(both[below] - exact[below])
print(f"mean error of the estimates {error.mean():.3f}, the largest {error.max():.3f}")
_, nearest = MinMaxNeighbors(n_neighbors=2).fit(counts).kneighbors(counts)
family = np.array(family)
at_home = family[nearest[:, 1]] == family  # the nearest of all is the molecule itself
print(f"{at_home.sum()} of {len(names)} have their nearest neighbour in their own family")
for away in np.flatnonzero(~at_home):
    print(f"  {names[away]} is nearest to {names[nearest[away, 1]]}")

# %%
# Some relatives are nearly the same molecule:

order = np.argsort(-exact[below])[:5]
for first, second in zip(below[0][order], below[1][order], strict=True):
    print(f"{exact[first, second]:.2f}  {names[second]} and {names[first]}")
