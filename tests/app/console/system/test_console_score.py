"""The Score page: what is recognised, options, the queue, results, the store; in a real browser at the end."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import WAIT_MS, wait_for

from dialint.app.console.system import job_files as score_files
from dialint.app.console.system import job_runner as score_runner
from dialint.app.console.system.job_files import JobFolder, clean_name, create_job_folder, job_folder
from dialint.app.console.system.job_processes import EXAMPLES, available_files, describe_log, make_file
from dialint.app.console.system.job_runner import ScoreRunner
from dialint.app.console.system.score_results import add_to_store
from dialint.detector.artifacts import file_entry, write_manifest
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.read import load_dialogues
from dialint.detector.records import Dialogue, Turn, Verdict
from dialint.detector.verdict_files import manifest_path, verdict_line
from dialint.labeling.store import dialogues, score_jobs
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.score_jobs import NewScoreJob, ScoreOptions

SAMPLE = Path(__file__).parents[4] / "app/sample/dialogues.jsonl"
LINES = SAMPLE.read_bytes().splitlines(keepends=True)
N, N_BROWSER = 6, 12
SMALL = b"".join(LINES[:N])


def step_until(runner: ScoreRunner, is_over: Callable[[], bool]) -> None:
    def is_over_or_step() -> bool:
        if over := is_over():
            return over
        runner.step()
        return False

    wait_for(is_over_or_step)


def brought(content: bytes = SMALL, name: str = "log.jsonl") -> tuple[str, JobFolder]:
    job_id, folder, _ = create_job_folder(name, content)
    return job_id, folder


# names and folders


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("march.jsonl", "march.jsonl"), ("../../etc/passwd", "passwd"), ("C:\\logs\\a b.csv.gz", "a_b.csv.gz"),
        ("-rf.jsonl", "rf.jsonl"), (".hidden", "hidden"), ("", "log"), ("журнал.csv", "журнал.csv"),
        ("[x]*?.json", "x_.json"), ("a\x00b\u202e.json", "a_b_.json"), ("…", "log"),
    ],
)  # fmt: skip
def test_a_name_of_a_log_is_no_path_and_no_pattern(name: str, clean: str) -> None:
    assert clean_name(name) == clean
    long = clean_name(f"{'ж' * 300}{name}.jsonl.gz")
    assert len(long.encode()) <= score_files.MAX_NAME_BYTES
    assert long.endswith(".jsonl.gz")


def test_folders_and_files_are_private_and_ids_are_no_paths(jobs: Path) -> None:
    os.umask(old := os.umask(0))
    _, folder = brought()
    for path in (jobs, *jobs.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
    os.umask(old)
    for wrong in ("..", "../../x", "", "0" * 15, "0" * 16 + "/"):
        with pytest.raises(ConfigError):
            job_folder(wrong)
    assert folder.phase == "new"


def test_only_logs_of_the_opened_folder_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert score_files.list_server_logs() == []
    root = tmp_path / "logs"
    (root / "in").mkdir(parents=True)
    (root / ".secret").mkdir()
    for name in ("a.jsonl", "in/b.csv.gz", ".hidden.jsonl", ".secret/c.jsonl", "key.pem"):
        (root / name).write_bytes(SMALL)
    (root / "link.jsonl").symlink_to("/etc/passwd")
    monkeypatch.setenv(score_files.LOGS_VARIABLE, str(root))
    assert score_files.list_server_logs() == ["a.jsonl", "in/b.csv.gz"]
    assert score_files.server_log("in/b.csv.gz").read_bytes() == SMALL
    for wrong in ("key.pem", "../logs/a.jsonl", "link.jsonl", "/etc/passwd"):
        with pytest.raises(ConfigError):
            score_files.server_log(wrong)


# what is recognised


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.jsonl", b"", "E_NO_RECORDS"),
        ("x.jsonl", b"\x1f\x8b\x08\x00broken", "E_"),
        ("x.jsonl.gz", SMALL, "E_FORMAT"),
        ("x.parquet", b"PAR1nothingPAR1", "E_PARQUET"),
        ("x.jsonl", b'{"id": "a", "turns": []}\n' * 3, None),
        ("x.jsonl", b"\xff\xfe\x00 not a log", None),
        ("x.csv", b"a,b\n1,2\n", None),
    ],
)  # fmt: skip
def test_bad_logs_get_one_sentence(name: str, content: bytes, says: str | None) -> None:
    _, folder = brought(content, name)
    seen = describe_log(folder)
    assert seen["refused"]
    assert "\n" not in seen["refused"]
    assert str(folder.path) not in seen["refused"]
    assert "dialint" not in seen["refused"]
    if says is not None:
        assert says in seen["code"]


def test_a_good_log_is_described_with_masked_dialogues_and_rejects() -> None:
    secret = json.loads(LINES[0])
    secret["dialogue_id"] = "secret"
    secret["turns"][0]["text"] = "Call me at +49 151 23456789, anna.schmidt@example.org"
    lines = [*LINES[:3], json.dumps(secret).encode() + b"\n", LINES[0], b'{"id": 7, "turns": []}\n']
    _, folder = brought(b"".join([*lines[3:], *lines[:3]]))
    seen = describe_log(folder)
    assert (seen["refused"], seen["read"], seen["rejected"], seen["duplicates"]) == (None, 6, 1, 1)
    assert seen["estimated"] == 6
    assert seen["rejects"][0]["code"] == "E_ID"
    shown = json.dumps(seen, ensure_ascii=False)
    assert "example.org" not in shown
    assert "23456789" not in shown
    assert seen["dialogues"][0]["id"] == "secret"
    assert "[PHONE_1]" in seen["dialogues"][0]["first"][0]["text"]


def test_a_log_of_unknown_columns_is_guessed_and_the_mapping_is_used() -> None:
    rows = ["ticket,wer,was"]
    for n in range(6):
        rows += [
            f"T{n},Kunde,Wo ist denn mein Paket geblieben?",
            f"T{n},Agent,Das Paket kommt morgen zu Ihnen.",
        ]
    _, folder = brought("\n".join(rows).encode() + b"\n", "x.csv")
    seen = describe_log(folder)
    assert seen["refused"] is None, seen
    assert seen["fields"]["text"] == "was"
    assert "was" in seen["mapping"]
    folder.mapping.write_text(seen["mapping"])
    again = describe_log(folder)
    assert (again["refused"], again["read"]) == (None, seen["read"])
    assert "--mapping" in score_files.score_command(folder, ScoreOptions(has_mapping=True))


def test_policies_are_read_before_they_are_kept() -> None:
    _, folder = brought()
    policy = (SAMPLE.parent / "policies").glob("*.yaml")
    good = next(iter(sorted(policy))).read_bytes()
    assert score_files.save_policies(folder, [("../a.yaml", good)]) == 1
    with pytest.raises(ConfigError) as refused:
        score_files.save_policies(folder, [("bad.yaml", b"policy: [")])
    assert str(folder.path) not in str(refused.value)
    assert [path.read_bytes() for path in folder.policies] == [good]


# the queue


@pytest.mark.slow
def test_jobs_run_one_after_the_other_and_every_file_is_made(runner: ScoreRunner) -> None:
    (_, first), (_, second) = brought(), brought(b"".join(LINES[N : 2 * N]), "second.jsonl")
    first.ask(ScoreOptions())
    time.sleep(0.01)
    second.ask(ScoreOptions(all_probabilities=False))
    runner.step()
    assert (first.phase, second.phase) == ("running", "waiting")
    pid = json.loads(first.process.read_bytes())["pid"]
    assert os.getpriority(os.PRIO_PROCESS, pid) == score_runner.NICE
    step_until(runner, lambda: first.phase == "done")
    step_until(runner, lambda: second.phase == "done")
    assert first.manifest is not None
    assert first.manifest["files"][0]["rows"] == N
    made = {name: make_file(first, name) for name in (*available_files(), EXAMPLES)}
    assert {path.stat().st_mode & 0o777 for path in made.values()} == {0o600}
    with pytest.raises(ConfigError):
        make_file(first, "../../log.jsonl")


def test_a_bad_log_fails_with_its_reason_and_a_job_can_go_on(runner: ScoreRunner) -> None:
    _, folder = brought(b'{"id": 7}\n' * 20)
    folder.ask(ScoreOptions())
    step_until(runner, lambda: folder.end is not None)
    assert folder.end is not None
    assert folder.end.phase == "failed"
    assert "E_TOO_MANY_BAD" in folder.end.message
    assert str(folder.path) not in folder.end.message


def sleeper(folder: JobFolder, script: str) -> None:
    """A request whose process is not `dialint score`, but ends its output's path like it."""
    folder.ask(ScoreOptions())
    folder.request.write_text(json.dumps(["python3", "-c", script, str(folder.out)]))


def test_a_job_stops_before_and_while_it_runs(runner: ScoreRunner) -> None:
    (_, first), (_, second) = brought(), brought()
    sleeper(first, "import time; time.sleep(60)")
    time.sleep(0.01)
    sleeper(second, "import time; time.sleep(60)")
    second.ask_to_stop()
    runner.step()
    pid = json.loads(first.process.read_bytes())["pid"]
    first.ask_to_stop()
    assert first.phase == "stopping"
    step_until(runner, lambda: first.phase == "stopped")
    step_until(runner, lambda: second.phase == "stopped")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    first.ask(ScoreOptions())
    assert first.phase == "waiting"


def test_a_new_console_adopts_the_process_and_starts_what_is_gone(runner: ScoreRunner, jobs: Path) -> None:
    _, folder = brought()
    sleeper(folder, "import time; time.sleep(60)")
    runner.step()
    first = json.loads(folder.process.read_bytes())
    other = ScoreRunner(jobs)
    other.step()  # the first console has the lock
    assert json.loads(folder.process.read_bytes()) == first
    assert runner._own_lock is not None
    os.close(runner._own_lock)  # the console is killed: its process lives on
    runner._own_lock = None
    other.step()
    assert folder.phase == "running"
    assert json.loads(folder.process.read_bytes()) == first
    os.kill(first["pid"], signal.SIGKILL)  # and the machine goes down
    assert runner._child is not None
    runner._child.wait()
    runner._child = None
    step_until(other, lambda: json.loads(folder.process.read_bytes())["attempt"] == 2)
    second = json.loads(folder.process.read_bytes())
    assert second["pid"] != first["pid"]
    folder.ask_to_stop()
    step_until(other, lambda: folder.phase == "stopped")
    other.close()


def test_a_process_that_dies_without_a_word_is_said(runner: ScoreRunner) -> None:
    _, folder = brought()
    sleeper(folder, "import os; os.kill(os.getpid(), 9)")
    step_until(runner, lambda: folder.end is not None)
    assert folder.end is not None
    assert (folder.end.phase, folder.end.message) == ("failed", "the process was killed by signal 9")
    _, quiet = brought()
    sleeper(quiet, "pass")
    step_until(runner, lambda: quiet.end is not None)
    assert quiet.end is not None
    assert quiet.end.phase == "failed"
    assert json.loads(quiet.process.read_bytes())["attempt"] == score_runner.MAX_ATTEMPTS


def test_a_damaged_job_does_not_hold_up_the_others(runner: ScoreRunner) -> None:
    (_, first), (_, second) = brought(), brought()
    sleeper(first, "pass")
    first.request.write_text("no JSON")
    time.sleep(0.01)
    sleeper(second, "import time; time.sleep(60)")
    runner.step()
    assert first.end is not None
    assert first.end.message == "the files of the job are damaged"
    assert second.phase == "running"
    second.ask_to_stop()
    step_until(runner, lambda: second.phase == "stopped")


# the page


def _done_folder() -> JobFolder:
    """A finished job, without scoring: the verdicts say that nothing was found."""
    _, folder = brought()
    assert folder.log is not None
    said = [
        Verdict(dialogue_id=each, release="r", taxonomy="1.0.0", status="scored", quality=100.0)
        for each in load_dialogues([str(folder.log)])
    ]
    folder.out.write_bytes(b"".join(map(verdict_line, said)))
    folder.rejects.write_bytes(b"")
    counts = {"scored": N, "failed": 0, "not_judged": 0, "findings": {}, "failures": {}, "with_s1_or_s2": 0}
    write_manifest(manifest_path(folder.out), {
        "kind": "verdicts", "format": "jsonl", "files": [file_entry(folder.out, N), file_entry(folder.rejects, 0)],
        "counts": counts, "reading": {"rejected": 0}, "seconds": 1.0, "work": {"release": {"id": "r"}},
        "resumed_dialogues": 0,
    })  # fmt: skip
    folder.ask(ScoreOptions())
    folder.write_end(score_files.JobEnd(phase="done"))
    return folder


def test_the_walk_of_a_log_on_the_page(
    open_page: Callable[..., Any], store: Store, runner: ScoreRunner
) -> None:
    page = open_page("lea", at="Score")
    assert "How it goes" in page.words
    page.test.file_uploader[0].set_value(("march.jsonl", SMALL, "application/json")).run()
    assert not page.test.exception
    (job,) = score_jobs.list_jobs(store, "lea")
    assert (job.name, job.state, job.account) == ("march.jsonl", "uploaded", "lea")
    assert [each.value for each in page.test.metric][:2] == [str(N), "0"]
    folder = job_folder(job.id)
    assert folder.log is not None
    assert folder.log.read_bytes() == SMALL
    page.press("Start scoring")
    assert score_jobs.load_job(store, "lea", job.id).state == "queued"
    assert folder.phase == "waiting"
    folder.ask_to_stop()
    runner.step()
    page.test.run()
    assert score_jobs.load_job(store, "lea", job.id).state == "stopped"
    assert "The job was stopped." in page.words
    page.press("Try again")
    assert score_jobs.load_job(store, "lea", job.id).state == "queued"
    folder.write_end(score_files.JobEnd(phase="failed", message="E_X: **what** happened"))
    page.test.run()
    assert "\\*\\*what\\*\\* happened" in page.words
    page.press("Remove with all files")
    assert score_jobs.list_jobs(store, "lea") == ()
    assert not folder.path.exists()


def test_results_go_into_the_store_once(open_page: Callable[..., Any], store: Store) -> None:
    folder = _done_folder()
    new = NewScoreJob(id=folder.path.name, name="log.jsonl", size=len(SMALL), sha256="ab")
    score_jobs.create_job(store, "lea", new)
    score_jobs.queue_job(store, "lea", new.id)
    changed = json.loads(LINES[1])["dialogue_id"]
    other = Turn(index=0, role="agent", text="Not what the log says.")
    dialogues.add(store, "lea", [Dialogue(id=changed, turns=(other,))])
    page = open_page("lea", at="Score")
    job = score_jobs.load_job(store, "lea", new.id)
    assert job.result is not None
    assert (job.state, job.result.dialogues, job.result.release) == ("done", N, "r")
    page.press("Add to the store")
    job = score_jobs.load_job(store, "lea", new.id)
    assert job.added is not None
    assert (job.added.dialogues, job.added.verdicts, job.added.changed) == (N - 1, N - 1, 1)
    again = add_to_store(store, "lea", folder)
    assert (again.dialogues, again.verdicts, again.known, again.changed) == (0, 0, N - 1, 1)
    page.test.text_input(key=f"release name:{job.id}").set_value("another run")
    page.press("Add to the store")
    (job,) = score_jobs.list_jobs(store, "lea")
    assert job.added is not None
    assert (job.added.dialogues, job.added.verdicts, job.added.known) == (0, N - 1, N - 1)
    verdict = dialogues.read(store, "rob", json.loads(LINES[0])["dialogue_id"])[1]
    assert verdict is not None
    assert verdict.release == "another run"


# in a real browser


@pytest.mark.slow
def test_a_log_is_scored_while_nobody_looks_and_the_console_dies(
    browser: Any, server: Any, signed_in: Callable[[Any, int, str], None], store: Store, jobs: Path
) -> None:
    """Uploaded, started, left; the console is killed and started again; downloaded, added to the store."""
    port = server.port
    context = browser.new_context()
    page = context.new_page()
    foreign: list[str] = []
    page.on("request", lambda each: foreign.append(each.url) if f"127.0.0.1:{port}" not in each.url else None)
    signed_in(page, port, "lea")
    page.goto(f"http://127.0.0.1:{port}/score")
    log = b"".join(LINES[:N_BROWSER])
    page.locator("input[type=file]").first.set_input_files(
        {"name": "<b>march</b>.jsonl", "mimeType": "application/json", "buffer": log}
    )
    page.get_by_role("button", name="Start scoring").click(timeout=WAIT_MS)
    page.get_by_text("It goes on when you leave this page").wait_for(timeout=WAIT_MS)
    (job,) = score_jobs.list_jobs(store, "lea")
    folder = job_folder(job.id)
    assert folder.log is not None
    assert folder.log.read_bytes() == log
    page.goto(f"http://127.0.0.1:{port}/review")
    wait_for(lambda: folder.phase in ("running", "done"))
    server.kill()  # the process goes on, or is resumed
    server.start()
    wait_for(lambda: folder.phase == "done")
    assert folder.manifest is not None
    assert folder.manifest["files"][0]["rows"] == N_BROWSER
    signed_in(page, port, "lea")
    page.goto(f"http://127.0.0.1:{port}/score?job={job.id}")
    page.get_by_role("tab", name="Downloads").click(timeout=WAIT_MS)
    links = page.locator("a[href*='/download/score/']")
    links.first.wait_for()
    address = links.first.get_attribute("href")
    assert address is not None
    url = address if address.startswith("http") else f"http://127.0.0.1:{port}{address}"
    answer = context.request.get(url)
    assert (answer.status, answer.body()) == (200, folder.out.read_bytes())
    assert answer.headers["content-disposition"].startswith("attachment")
    with page.expect_download() as download:
        page.evaluate("address => { location.href = address }", url)
    assert Path(download.value.path()).read_bytes() == folder.out.read_bytes()
    assert context.request.get(url.replace("verdicts.jsonl", "..%2f..%2fjob.json")).status in (400, 404)
    assert context.request.get(url.replace(job.id, "0" * 16)).status == 404
    stranger = browser.new_context()
    assert stranger.request.get(url).status == 404
    signed_in(stranger.new_page(), port, "rob")
    assert stranger.request.get(url).status == 404
    page.get_by_role("tab", name="Add to the store").click()
    page.get_by_role("button", name="Add to the store").click()
    page.get_by_text(f"{N_BROWSER} dialogues were added").wait_for(timeout=WAIT_MS)
    first = json.loads(LINES[0])["dialogue_id"]
    assert dialogues.read(store, "rob", first)[1] is not None
    assert foreign == []
    stranger.close()
    context.close()
