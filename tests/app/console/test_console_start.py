"""Starting: settings, the first account, the demo."""

from pathlib import Path

import pytest
from console_records import make_finding, make_verdict

from dialint.app.commands.console import ConsoleConfig
from dialint.app.console.demo import AGENT, APPEALS, CONTROL_SHARE, LABEL, REVIEW, SAMPLE, make_demo
from dialint.app.console.launch import FIRST_ACCOUNT, prepare_store, server_command, server_environment
from dialint.detector.errors import ConfigError
from dialint.detector.ingest.read import load_dialogues
from dialint.labeling.store import authentication, leases, projects, task_view, tasks
from dialint.labeling.store.coaching import list_notes
from dialint.labeling.store.database.transactions import Store
from dialint.labeling.store.database.verify import verify
from dialint.labeling.store.records import NotAllowed


def test_the_server_is_safe_by_its_flags() -> None:
    words = server_command(8501, "127.0.0.1", ["console.test"])
    for flag in (
        "--server.address=127.0.0.1", "--server.headless=true", "--server.enableCORS=true",
        "--server.enableXsrfProtection=true", "--browser.gatherUsageStats=false",
        "--client.showErrorDetails=none", "--server.enableAgentApi=false", "--runner.magicEnabled=false",
        "--server.maxUploadSize=200", "--server.allowedHosts=127.0.0.1", "--server.allowedHosts=console.test",
    ):  # fmt: skip
        assert flag in words
    assert words[1:4] == ["-m", "streamlit", "run"]
    place = "postgresql://u:secret@h/d"
    assert server_environment(place, 60.0)["DIALINT_STORE"] == place
    assert not any("secret" in word for word in words)
    assert server_environment(None, 60.0)["FORWARDED_ALLOW_IPS"] == "", "no client says where it comes from"
    assert server_environment(None, 60.0, proxies=["10.0.0.1"])["FORWARDED_ALLOW_IPS"] == "10.0.0.1"


def test_the_first_start_makes_an_admin_once(tmp_path: Path) -> None:
    place = str(tmp_path / "new" / "store.sqlite")
    password = prepare_store(place)
    assert password is not None
    assert prepare_store(place) is None
    with Store.open(place) as store:
        assert (
            authentication.choose_password(store, FIRST_ACCOUNT, password, "one of my own").account.role
            == "admin"
        )


def test_options_that_cannot_be() -> None:
    for wrong in (
        {"port": 0}, {"idle_minutes": 0.0}, {"host": ("https://console.test",)}, {"proxy": ("nginx",)},
        {"address": "0.0.0.0"},
    ):  # fmt: skip
        with pytest.raises(ConfigError):
            ConsoleConfig(**wrong)  # type: ignore[arg-type]


def test_the_names_that_browsers_may_ask_for() -> None:
    assert ConsoleConfig().hosts == ()
    assert ConsoleConfig(address="10.1.2.3", host=("console.test",)).hosts == ("console.test", "10.1.2.3")
    assert ConsoleConfig(address="0.0.0.0", host=("console.test",)).hosts == ("console.test",)


@pytest.mark.slow
def test_the_demo_has_work_for_every_role(tmp_path: Path) -> None:
    sample = list(load_dialogues([str(SAMPLE)]).values())
    assert len(sample) == 78
    where = next(turn for turn in sample[0].turns if turn.role == "agent")
    error = make_finding(turn=where.index, quote=where.text[:5], probability=0.7)
    verdicts = [make_verdict(sample[0].id, error), *(make_verdict(each.id) for each in sample[1:])]
    place = str(tmp_path / "store.sqlite")
    people = make_demo(place, verdicts)
    assert set(people) == {"labeler", "reviewer", "expert", "lead", "admin", "agent"}
    with Store.open(place) as store:
        for name, password in people.items():
            assert authentication.sign_in(store, name, password).account.role == (
                "labeler" if name == "agent" else name
            )
        lease = leases.claim(store, "reviewer", REVIEW)
        assert lease is not None
        assert lease.dialogue == sample[0].id
        assert task_view.view_task(store, "reviewer", lease.task).verdict is not None
        blind = leases.claim(store, "labeler", LABEL)
        assert blind is not None
        assert task_view.view_task(store, "labeler", blind.task).verdict is None
        with pytest.raises(NotAllowed):
            leases.claim(store, "labeler", REVIEW)
        shares = {project.id: project.control_share for project, _ in projects.list_projects(store, "lead")}
        assert {name: share for name, share in shares.items() if share} == {LABEL: CONTROL_SHARE}
        assert {REVIEW, LABEL, APPEALS} < shares.keys()
        assert tasks.count_tasks(store, "lead", LABEL)["control"]["open"] == 5
        verify(store)
        notes = list_notes(store, "agent", AGENT)
        assert {note.acknowledged_by for note in notes} == {None, "agent"}
