"""``kernelight fit``: from a table to a model in a file."""

from __future__ import annotations

from typing import Any

from kernelight import KernelClassifier, KernelRegressor, TableModel, open_dataset
from kernelight.cli import show

TUNED = ("C", "gamma", "p")


def run(
    data: str, output: str, given: dict[str, Any], reading: dict[str, Any], memory: str | None, passes: int, half: bool,
    quiet: bool, as_json: bool,
) -> None:  # fmt: skip
    """Read, train, write the model, and say what was chosen."""
    show.refuse_no_place(output, data)
    dataset = open_dataset(data, **reading)
    given = {name: _number(name, value) for name, value in given.items() if value is not None}

    def made(task: str) -> Any:
        if task == "classification":
            if "epsilon" in given:
                raise ValueError(f"{dataset.name}: --epsilon is for quantities, but the target is a class.")
            return KernelClassifier(**given)
        if "class_weight" in given:
            raise ValueError(f"{dataset.name}: --balanced is for classes, but the target is a quantity.")
        return KernelRegressor(**given)

    model = TableModel(made)
    with show.progress(quiet or as_json) as watch:
        model.fit(dataset, memory=memory, passes=passes, watch=watch)
    model.save(output, weights="float16" if half else None)
    if as_json:
        fitted = model.model_
        show.as_json({
            "model": output, "data": model.trained_on_, "rows": model.n_rows_, "task": model.task,
            "features": fitted.n_features_in_, "kernel": fitted.kernel, "components": fitted.n_components,
            "scale": fitted.scale_, "gamma": fitted.gamma_, "p": fitted.p_, "C": fitted.C_, "sources": fitted.sources_,
            "validation_score": fitted.validation_score_, "scoring": fitted.scoring, "held_out": model.held_out_,
        })  # fmt: skip
        return
    if not quiet:
        print(model.summary())
        print()
    print(f"The model is {output}.")


def _number(name: str, value: Any) -> Any:
    """A word or a number, of the parameters that may be either."""
    words = ("tune", "scale") if name == "gamma" else ("tune",)
    if name not in TUNED or not isinstance(value, str) or value in words:
        return value
    try:
        return float(value)
    except ValueError:
        known = ", ".join(["a number", *words[:-1]]) + f" or {words[-1]}"
        raise ValueError(f"--{name} must be {known}, got {value!r}.") from None
