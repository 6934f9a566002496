"""
Why this prediction?
====================

A model of a min-max kernel is a sum over columns, although it is not linear.
:meth:`~kernelight.KernelRegressor.explain` returns the terms of that sum: what each column adds to
the prediction of each row.

The table is scikit-learn's diabetes data: ten measurements of 442 patients, and a number that says
how far the disease had gone a year later.
"""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from kernelight import ContributionsDisplay, KernelRegressor

X, y = load_diabetes(return_X_y=True, scaled=False)
NAMES = ["age", "sex", "body mass", "blood pressure", "cholesterol", "LDL", "HDL"]
NAMES += ["chol. / HDL", "log triglyc.", "glucose"]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = KernelRegressor().fit(X_train, y_train)
contributions = model.explain(X_test)  # a data frame would bring its names along
contributions = replace(contributions, feature_names=NAMES)

# the patient on whom columns disagree most
up, down = (np.maximum(side * contributions.values, 0).sum(axis=1) for side in (1, -1))
patient = int(np.argmax(np.minimum(up, down)))
display = ContributionsDisplay.from_contributions(contributions, kind="row", row=patient, top=8)
display.figure_.set_size_inches(5.4, 4.2)
display.ax_.set_title(f"Patient {patient}: what the columns say")
plt.show()

# %%
# Read it from below.
# The dotted line is the base value, the mean prediction.
# Each bar moves the prediction up (to the right) or down, the strongest one last.
# The solid line is where they end.

strongest = contributions.strongest(patient, top=3)
for name, value, contribution in strongest:
    print(f"{name:14} {value:6.1f} adds {contribution:+6.1f}")
print(f"base value {contributions.base_values[patient]:.1f}, with all columns", end=" ")
print(f"{contributions.scores[patient]:.1f}; prediction {model.predict(X_test)[patient]:.1f}")
print(f"the truth is {y_test[patient]:.1f}; R² on new patients {model.score(X_test, y_test):.2f}")

# %%
# The same terms of all patients show the shape of the effect of a column: its values against what
# they add.
# Where dots of one value spread, the effect of the column depends on the others, which a linear
# model cannot express.

shapes = model.explain(X)
shapes = replace(shapes, feature_names=NAMES)
fig, axes = plt.subplots(2, 2, figsize=(5.4, 5.0), sharey=True, layout="constrained")
ContributionsDisplay(shapes).plot(axes, kind="shape")
fig.suptitle("What a column adds, for all patients", x=0.02, ha="left")
for ax in axes[:, 0]:
    ax.set_ylabel("contribution")
plt.show()

importance = dict(zip(NAMES, model.feature_importances_, strict=True))
print(
    ", ".join(f"{name} {importance[name]:.2f}" for name in sorted(NAMES, key=importance.get)[::-1])
)

# %%
# Contributions say what the model does, not what would happen to a patient whose blood pressure
# were another.
# Columns that say the same, such as those of blood fats, share what they say.
