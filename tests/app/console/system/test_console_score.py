"""The Score page: what is recognised, options, the queue, results, the store; in a real browser at the end."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from console_records import make_verdict
from outputs import finished
from patience import WAIT_MS, wait_for

from dialint.app.console.system.log_preview import describe_log
from dialint.app.console.system.score_results import add_to_store
from dialint.app.output import ERROR_FILE_VARIABLE
from dialint.app.scoring import background as score_jobs
from dialint.app.scoring.background import (
    FILES,
    Job,
    ScoreOptions,
    clean_name,
    create_job,
    list_jobs,
    load_job,
    make_file,
    save_policies,
    score_command,
)
from dialint.detector.artifacts import file_entry, read_manifest, write_manifest
from dialint.detector.errors import ConfigError, Message
from dialint.detector.ingest.read import load_dialogues
from dialint.detector.records import Dialogue, Turn
from dialint.detector.verdict_files import manifest_path, rejects_path
from dialint.labeling.store import dialogues
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.records import StoreRefused

SAMPLE = Path(__file__).parents[4] / "app/sample/dialogues.jsonl"
LINES = SAMPLE.read_bytes().splitlines(keepends=True)
N, N_BROWSER = 6, 4
SMALL = b"".join(LINES[:N])
LAST_WORD = json.dumps({"code": "E_X", "message": Message("**what** happened").as_json()})
SLEEP = ["python3", "-c", "import time; time.sleep(60)"]


@pytest.fixture
def make_job(jobs: Path) -> Callable[..., Job]:
    def make(content: bytes = SMALL, name: str = "log.jsonl", number: int = 1) -> Job:
        return create_job(jobs / f"{number:016x}", "lea", name, content)

    return make


@pytest.fixture(autouse=True)
def end(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ends what a test has started."""
    yield
    score_jobs.stop_all()
    wait_for(lambda: not score_jobs._RUNS)


def start(job: Job) -> None:
    job.update(options=ScoreOptions())
    job.start()


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
    assert len(long.encode()) <= score_jobs.MAX_NAME_BYTES
    assert long.endswith(".jsonl.gz")


def test_folders_and_files_are_private_and_ids_are_no_paths(jobs: Path, make_job: Callable[..., Job]) -> None:
    os.umask(old := os.umask(0))
    job = make_job()
    for path in (jobs, *jobs.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
    os.umask(old)
    for wrong in ("..", "../../x", "", "0" * 15, "0" * 16 + "/", "0" * 16):
        with pytest.raises(ConfigError, match="no such job"):
            load_job(wrong)
    assert load_job(job.id).state == "new"


def test_only_logs_of_the_opened_folder_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert score_jobs.list_server_logs() == []
    root = tmp_path / "logs"
    (root / "in").mkdir(parents=True)
    (root / ".secret").mkdir()
    for name in ("a.jsonl", "in/b.csv.gz", ".hidden.jsonl", ".secret/c.jsonl", "key.pem"):
        (root / name).write_bytes(SMALL)
    (root / "link.jsonl").symlink_to("/etc/passwd")
    monkeypatch.setenv(score_jobs.LOGS_VARIABLE, str(root))
    assert score_jobs.list_server_logs() == ["a.jsonl", "in/b.csv.gz"]
    assert score_jobs.server_log("in/b.csv.gz").read_bytes() == SMALL
    for wrong in ("key.pem", "../logs/a.jsonl", "link.jsonl", "/etc/passwd"):
        with pytest.raises(ConfigError):
            score_jobs.server_log(wrong)


# what is recognised


@pytest.mark.parametrize(
    ("name", "content", "code", "message"),
    [
        ("x.jsonl", b"", "E_NO_RECORDS", None),
        ("x.jsonl", b"\x1f\x8b\x08\x00broken", "E_", None),
        ("x.parquet", b"PAR1nothingPAR1", "E_PARQUET", None),
        ("x.jsonl", b'{"id": "a", "turns": []}\n' * 3, None, None),
        ("x.txt", b"a b c\nd e f\n", None, "x.txt: is none of the formats that are read"),
        ("x.csv", b"a,b,c\n" + b"1,x,y\n" * 3, None, "no column or path was recognised for: id, role, text"),
    ],
)  # fmt: skip
def test_bad_logs_get_one_sentence(
    make_job: Callable[..., Job], name: str, content: bytes, code: str | None, message: str | None
) -> None:
    job = make_job(content, name)
    seen = describe_log(str(job.log), "").result
    assert seen.refused is not None
    text = job.for_screen(seen.refused)
    assert "\n" not in text
    assert str(job.path) not in text
    assert "dialint" not in text, "no hint at a command for a terminal"
    if code is not None:
        assert code in str(seen.code)
    if message is not None:
        assert text == message


def test_a_good_log_is_described_with_masked_dialogues_and_rejects(make_job: Callable[..., Job]) -> None:
    secret = json.loads(LINES[0])
    secret["dialogue_id"] = "secret"
    secret["turns"][0]["text"] = "Call me at +49 151 23456789, anna.schmidt@example.org"
    lines = [json.dumps(secret).encode() + b"\n", LINES[0], b'{"id": 7, "turns": []}\n', *LINES[:3]]
    seen = describe_log(str(make_job(b"".join(lines)).log), "")
    counts = seen.result.counts
    assert (seen.result.refused, counts.read, counts.rejected, counts.duplicates) == (None, 6, 1, 1)
    assert seen.estimated == 6
    assert seen.result.rejects[0].code == "E_ID"
    masked = str(seen.result.dialogues)
    assert "example.org" not in masked
    assert "23456789" not in masked
    assert seen.result.dialogues[0].id == "secret"
    assert "[PHONE_1]" in seen.result.dialogues[0].turns[0].text


def test_a_log_of_unknown_columns_is_guessed_and_the_mapping_is_used(make_job: Callable[..., Job]) -> None:
    template = "T{0},Kunde,Wo ist denn mein Paket geblieben?\nT{0},Agent,Das Paket kommt morgen zu Ihnen.\n"
    text = "ticket,wer,was\n" + "".join(template.format(n) for n in range(6))
    job = make_job(text.encode(), "x.csv")
    seen = describe_log(str(job.log), "")
    assert (seen.result.refused, seen.result.fields["text"]) == (None, "was")
    assert "--mapping" not in score_command(job)
    job.mapping.write_text(seen.mapping)
    again = describe_log(str(job.log), str(job.mapping)).result
    assert (again.refused, again.counts.read) == (None, seen.result.counts.read)
    assert "--mapping" in score_command(job)


def test_policies_are_validated_before_they_are_saved(make_job: Callable[..., Job]) -> None:
    job = make_job()
    good = next(iter(sorted((SAMPLE.parent / "policies").glob("*.yaml")))).read_bytes()
    save_policies(job, [("../a.yaml", good)])
    with pytest.raises(ConfigError) as refused:
        save_policies(job, [("bad.yaml", b"policy: [")])
    assert str(job.path) not in str(refused.value)
    assert [path.read_bytes() for path in (job.path / "policies").glob("*")] == [good]
    assert score_command(job).count("--policy") == 1


# processes


def test_one_job_runs_at_a_time_and_each_can_be_stopped(
    make_job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_jobs, "score_command", lambda job: SLEEP)
    first, second, third = (make_job(number=n) for n in (1, 2, 3))
    start(first)
    wait_for(lambda: first.state == "running")
    start(second)
    start(third)
    assert (second.state, third.state) == ("waiting", "waiting")
    process = score_jobs._RUNS[first.path].process
    second.stop()
    first.stop()
    assert first.state == "stopping"
    wait_for(lambda: first.state == second.state == "stopped")
    assert process is not None
    assert process.poll() is not None
    wait_for(lambda: third.state == "running")
    score_jobs.stop_all()  # as the server does when it ends; the next one shows the job as stopped
    wait_for(lambda: third.state == "stopped")
    start(third)
    wait_for(lambda: third.state == "running")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import os; os.kill(os.getpid(), 9)", "E_JOB: the process was killed by signal 9"),
        ("raise SystemExit(3)", "E_JOB: the process ended without a message (exit code 3)"),
        ("pass", "E_JOB: the process ended without a message (exit code 0)"),
        (
            f"import os; open(os.environ[{ERROR_FILE_VARIABLE!r}], 'w').write({LAST_WORD!r}); raise SystemExit(2)",
            "E_X: **what** happened",
        ),
    ],
)
def test_a_process_that_dies_with_or_without_a_word_fails_the_job(
    make_job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, script: str, message: str
) -> None:
    monkeypatch.setattr(score_jobs, "score_command", lambda job: ["python3", "-c", script])
    job = make_job()
    start(job)
    wait_for(lambda: job.state == "failed")
    assert job.describe_failure() == message


# the page


@pytest.fixture
def done_job(make_job: Callable[..., Job]) -> Job:
    """A job that is done, without scoring: the verdicts say that nothing was found."""
    job = make_job()
    verdicts = [make_verdict(each, release="r") for each in load_dialogues([str(job.log)])]
    rejects = rejects_path(job.out)
    rejects.write_bytes(b"")
    counts = {"scored": N, "failed": 0, "not_judged": 0, "findings": {}, "failures": {}, "with_s1_or_s2": 0}
    out = finished(
        job.out.parent, verdicts, counts=counts, reading={"rejected": 0}, seconds=1.0,
        work={"release": {"id": "r"}}, resumed_dialogues=0,
    )  # fmt: skip
    assert out == job.out
    files = [file_entry(out, N), file_entry(rejects, 0)]
    write_manifest(manifest_path(out), {**read_manifest(manifest_path(out)), "files": files})
    job.update(options=ScoreOptions())
    return job


def test_the_walk_of_a_log_on_the_page(
    open_page: Callable[..., Any], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_jobs, "score_command", lambda job: SLEEP)
    page = open_page("lea", at="Score")
    assert "How it goes" in page.words
    page.test.file_uploader[0].set_value(("march.jsonl", SMALL, "application/json"))
    page.run()
    (job,) = list_jobs()
    assert (job.record.name, job.state, job.record.account) == ("march.jsonl", "new", "lea")
    assert [each.value for each in page.test.metric][:2] == [str(N), "0"]
    assert job.log.read_bytes() == SMALL
    page.press("Start scoring")
    wait_for(lambda: load_job(job.id).state == "running")
    page.press("Stop")
    wait_for(lambda: load_job(job.id).state == "stopped")
    page.run()
    assert "The job was stopped." in page.words
    page.press("Try again")
    wait_for(lambda: load_job(job.id).state == "running")
    score_jobs.stop_all()
    wait_for(lambda: load_job(job.id).state == "stopped")
    job.error.write_text(LAST_WORD)
    page.run()
    assert "\\*\\*what\\*\\* happened" in page.words
    page.press("Remove with all files")
    assert list_jobs() == []
    assert not job.path.exists()


def test_results_go_into_the_store_once(open_page: Callable[..., Any], store: Store, done_job: Job) -> None:
    page = open_page("lea", at="Score")
    page.press("Add to the store")
    added = load_job(done_job.id).record.added
    assert added is not None
    assert (added.dialogues, added.verdicts, added.known) == (N, N, 0)
    again = add_to_store(store, "lea", done_job)
    assert (again.dialogues, again.verdicts, again.known) == (0, 0, N)
    page.test.text_input(key=f"release name:{done_job.id}").set_value("another run")
    page.press("Add to the store")
    verdict = dialogues.read(store, "rob", json.loads(LINES[0])["dialogue_id"])[1]
    assert verdict is not None
    assert verdict.release == "another run"


def test_a_dialogue_with_other_content_is_refused(store: Store, done_job: Job) -> None:
    other = Turn(index=0, role="agent", text="Not what the log says.")
    changed = json.loads(LINES[1])["dialogue_id"]
    dialogues.add(store, "lea", [Dialogue(id=changed, turns=(other,))])
    with pytest.raises(StoreRefused, match="E_CHANGED"):
        add_to_store(store, "lea", done_job)
    assert done_job.record.added is None


# in a real browser


@pytest.mark.slow
@pytest.mark.usefixtures("own_server")
def test_a_log_is_scored_without_an_open_page(
    browser: Any, server: Any, signed_in: Callable[[Any, int, str], None], store: Store, jobs: Path
) -> None:
    """Uploaded, started, left; the console is started again; downloaded, added to the store."""
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
    (job,) = list_jobs()
    assert job.log.read_bytes() == log
    page.goto(f"http://127.0.0.1:{port}/review")
    wait_for(lambda: manifest_path(job.out).exists())
    assert job.manifest["files"][0]["rows"] == N_BROWSER
    assert {make_file(job, name).stat().st_mode & 0o777 for name in FILES} == {0o600}
    with pytest.raises(ConfigError):
        make_file(job, "../../log.jsonl")
    server.kill()
    server.start()
    signed_in(page, port, "lea")
    page.goto(f"http://127.0.0.1:{port}/score?job={job.id}")
    page.get_by_role("tab", name="Downloads").click(timeout=WAIT_MS)
    links = page.locator("a[href*='/download/score/']")
    links.first.wait_for()
    address = links.first.get_attribute("href")
    assert address is not None
    url = address if address.startswith("http") else f"http://127.0.0.1:{port}{address}"
    answer = context.request.get(url)
    assert (answer.status, answer.body()) == (200, job.out.read_bytes())
    assert answer.headers["content-disposition"].startswith("attachment")
    with page.expect_download() as download:
        page.evaluate("address => { location.href = address }", url)
    assert Path(download.value.path()).read_bytes() == job.out.read_bytes()
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
