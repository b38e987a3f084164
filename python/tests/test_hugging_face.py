"""pantoum.hugging_face with the package transformers: a small BERT made from its configuration."""

from __future__ import annotations

import importlib
import pathlib
from typing import Any

import pytest

pytest.importorskip("transformers", reason="transformers is not installed: pip install transformers accelerate")
import pantoum
import torch

transformers: Any = importlib.import_module("transformers")
hugging_face: Any = importlib.import_module("pantoum.hugging_face")
LENGTH, CLASSES, SAMPLES = 64, 3, 48


def bert(dropout: float = 0.0) -> Any:
    torch.manual_seed(0)
    return transformers.BertForSequenceClassification(
        transformers.BertConfig(
            vocab_size=200,
            hidden_size=64,
            num_hidden_layers=4,
            num_attention_heads=4,
            intermediate_size=256,
            max_position_embeddings=LENGTH,
            num_labels=CLASSES,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
    )


def samples() -> list[dict[str, Any]]:
    draw = torch.Generator().manual_seed(1)
    made = []
    for _ in range(SAMPLES):
        words = torch.randint(1, 200, (LENGTH,), generator=draw)
        made.append({"input_ids": words, "attention_mask": torch.ones_like(words), "labels": int(words[0]) % CLASSES})
    return made


def trainer_of(model: Any, folder: pathlib.Path, *callbacks: Any, **arguments: Any) -> Any:
    settings: dict[str, Any] = {
        "output_dir": str(folder),
        "use_cpu": True,
        "per_device_train_batch_size": 8,
        "dataloader_drop_last": True,
        "num_train_epochs": 1,
        "learning_rate": 1e-3,
        "report_to": [],
        "save_strategy": "no",
        "logging_strategy": "no",
        "disable_tqdm": True,
        **arguments,
    }
    return transformers.Trainer(
        model,
        transformers.TrainingArguments(**settings),
        train_dataset=samples(),
        eval_dataset=samples()[:16],
        callbacks=list(callbacks),
    )


def test_the_budget_holds_and_the_parameters_are_eager_ones(tmp_path: pathlib.Path, fresh_compiler: None) -> None:
    eager = bert()
    trainer_of(eager, tmp_path).train()
    unplanned = hugging_face.TorchBudgetCallback("1GiB")
    trainer_of(bert(), tmp_path, unplanned, max_steps=1).train()
    most = unplanned.report().planned_peak
    callback = hugging_face.TorchBudgetCallback(pantoum.Bytes(int(most * 0.6)), page_dir=None)
    model = bert()
    with callback.budget.measure():
        trainer_of(model, tmp_path, callback).train()
    report = callback.report()
    assert report.measured_peak <= report.planned_peak <= int(most * 0.6) < most
    assert sum(piece.recomputed for piece in report.pieces) > 0
    assert report.refusals == []
    for (name, mine), theirs in zip(model.named_parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5, msg=name)
    assert any(
        not torch.equal(mine, begin) for mine, begin in zip(model.parameters(), bert().parameters(), strict=True)
    )
    assert model._compiled_call_impl is None  # as it was


def test_saved_evaluated_and_trained_on(tmp_path: pathlib.Path, fresh_compiler: None) -> None:
    callback = hugging_face.TorchBudgetCallback("64MiB", time_limit_s=5)
    model = bert(dropout=0.1)
    arguments = {
        "gradient_accumulation_steps": 2,
        "save_strategy": "steps",
        "save_steps": 2,
        "max_steps": 4,
        "eval_strategy": "steps",
        "eval_steps": 2,
    }
    trainer = trainer_of(model, tmp_path, callback, **arguments)
    trainer.train()
    pieces = len(callback.report().pieces)
    assert pieces >= 2  # training and evaluation
    again = transformers.BertForSequenceClassification.from_pretrained(tmp_path / "checkpoint-4")
    for mine, theirs in zip(again.parameters(), model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    trainer = trainer_of(model, tmp_path, callback, max_steps=6)
    trainer.train(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert trainer.state.global_step == 6


def test_a_budget_that_is_too_small(tmp_path: pathlib.Path, fresh_compiler: None) -> None:
    callback = hugging_face.TorchBudgetCallback("100KiB", page_dir=None)
    model = bert()
    with pytest.raises(pantoum.Infeasible) as raised:
        trainer_of(model, tmp_path, callback, max_steps=1).train()
    enough = hugging_face.TorchBudgetCallback(raised.value.min_ram, page_dir=None)
    trainer_of(model, tmp_path, enough, max_steps=1).train()
    assert enough.report().planned_peak <= raised.value.min_ram


def test_two_compilers_are_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(pantoum.UsageError, match="compiles the model itself"):
        trainer_of(bert(), tmp_path, hugging_face.TorchBudgetCallback("64MiB"), torch_compile=True).train()


def test_arguments_that_do_not_fit() -> None:
    with pytest.raises(pantoum.UsageError, match="E0110"):
        hugging_face.TorchBudgetCallback(64)
