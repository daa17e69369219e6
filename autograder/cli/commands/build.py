"""`autograder build`."""

from __future__ import annotations

from pathlib import Path

import click

from autograder.cli.commands.shared import ENGINE, ROOT, console, errors, examples, one_sentence


@click.command(
    help="Build chapters and prove their answers. A chapter source/NAME.py becomes source/NAME/NAME.ipynb and notebooks/NAME/NAME.ipynb. "
    "The beginning of a name is enough; all chapters by default." + examples("autograder build", "autograder build 01"),
)
@click.argument("chapters", nargs=-1)
@click.option("--verify/--no-verify", "prove", default=True, help="Run the reference answers under two seeds.")
@click.option("--force", is_flag=True, help="Write over a release that holds somebody's work.")
@ROOT
@ENGINE
@one_sentence
def build(chapters: tuple[str, ...], prove: bool, force: bool, root: Path, engine: str) -> None:
    from contextlib import nullcontext
    from tempfile import TemporaryDirectory

    from autograder.authoring.build import clean_stale, refuse_to_lose_answers, release, write_source_notebook
    from autograder.authoring.source import SourceError, source_names
    from autograder.authoring.verify import verify
    from autograder.engine import open_engine
    from autograder.grading.course import chapter_called, load_chapter_at
    from autograder.pipeline import cores

    known = source_names(root)
    names = [chapter_called(name, known) for name in chapters] or known
    if not names:
        raise SourceError(f"{root / 'source'} holds no chapter: write one as source/NN-topic.py.")
    if not chapters:
        clean_stale(root, names)
    broken: list[str] = []
    with (
        open_engine(engine, "auto", cores()) if prove else nullcontext() as runner,
        TemporaryDirectory() as drafts,
    ):
        for name in names:
            target = root / "notebooks" / name / f"{name}.ipynb"
            if not force:
                refuse_to_lose_answers(target)
            source = write_source_notebook(root, name)
            draft = release(root, name, Path(drafts))
            if runner is not None:
                found = verify(load_chapter_at(name, source, draft), runner)
                broken += found.broken
                if found.broken:
                    continue
                constant = ", ".join(f"{key} {share:.0%}" for key, share in found.constant.items() if share)
                if constant:
                    console.print(f"{name}: points on values that no seed changes: {constant}", markup=False)
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.is_file() or target.read_bytes() != draft.read_bytes():
                target.write_bytes(draft.read_bytes())
            console.print(f"{name}: {target.relative_to(root)}", markup=False)
    for sentence in broken:
        errors.print(f"autograder: {sentence}", style="red", markup=False)
    if broken:
        raise SystemExit(2)
