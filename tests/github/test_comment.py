"""The sticky comment against a stateful GitHub, hostile neighbours and overlapping runs included."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from github import Github
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.github_answers import BOT, Identity
from tests.fakes.github_server import GithubServer
from tjbench.github.api import ApiThread
from tjbench.github.comment import MAX_CHARACTERS, Marker, Posted, Refused, fit, upsert_comment
from tjbench.github.event import Head

Connect = Callable[..., Github]
RUN_URL = "https://github.example/acme/shop/actions/runs/7"


def marker(run: int, attempt: int = 1, gate: str = "ci/gate") -> Marker:
    return Marker(gate=gate, sha="a" * 40, run=run, attempt=attempt)


@pytest.fixture
def post(server: GithubServer, connected: Connect) -> Callable[..., Posted | Refused]:
    """Write the gate's comment as one run does, with a client of its own."""

    def upsert(text: str, *, run: int = 7, attempt: int = 1, gate: str = "ci/gate", token: str = "token"):  # type: ignore[no-untyped-def]
        thread = ApiThread(client=connected(server.url, token), full_name="acme/shop", pull_request=1)
        return upsert_comment(thread, marker(run, attempt, gate), text, run_url=RUN_URL, sleep=lambda _: None)

    return upsert


Post = Callable[..., Posted | Refused]


def posts(server: GithubServer) -> int:
    return sum(request.startswith("POST") for request in server.requests)


def writes(server: GithubServer) -> list[str]:
    return [request.split()[0] for request in server.requests if not request.startswith("GET")]


# --- the marker


@given(gate=st.text(max_size=40), run=st.integers(0, 2**63), attempt=st.integers(1, 99))
def test_any_gate_id_survives_and_cannot_end_the_html_comment(gate: str, run: int, attempt: int) -> None:
    wanted = Marker(gate=gate, sha="0f", run=run, attempt=attempt)
    line = str(wanted)
    assert Marker.parse(f"{line}\nrest") == wanted
    assert line.isascii()
    assert "\n" not in line
    assert "--" not in line.removeprefix("<!--").removesuffix("-->")


def test_the_marker_reads_as_documented() -> None:
    assert str(marker(7, 2, "gate")) == f"<!-- tjbench:gate=gate sha={'a' * 40} run=7 attempt=2 -->"


def test_a_marker_counts_only_at_the_very_start() -> None:
    assert Marker.parse(f"quoted:\n{marker(7)}") is None
    assert Marker.parse("") is None


# --- one comment


def test_the_first_run_posts_and_the_next_one_edits(server: GithubServer, post: Post) -> None:
    first = post("one", run=7)
    second = post("two", run=8)
    assert isinstance(first, Posted)
    assert isinstance(second, Posted)
    assert (first.outcome, second.outcome, first.url) == ("created", "updated", second.url)
    assert [comment.body for comment in server.comments] == [f"{marker(8)}\ntwo"]
    assert writes(server) == ["POST", "PATCH"]


def test_a_second_attempt_of_a_run_edits_too(server: GithubServer, post: Post) -> None:
    post("one", run=7, attempt=1)
    post("two", run=7, attempt=2)
    assert [comment.body for comment in server.comments] == [f"{marker(7, 2)}\ntwo"]


def test_posting_again_in_the_same_attempt_edits(server: GithubServer, post: Post) -> None:
    post("one")
    post("two")
    assert [comment.body for comment in server.comments] == [f"{marker(7)}\ntwo"]


def test_several_gates_keep_apart(server: GithubServer, post: Post) -> None:
    for gate in ("ci/a", "ci/b", "ci/a-"):
        post(gate, gate=gate)
    post("again", gate="ci/a", run=8)
    assert [comment.body.partition("\n")[2] for comment in server.comments] == ["again", "ci/b", "ci/a-"]


def test_the_comment_is_found_on_the_third_page(server: GithubServer, post: Post) -> None:
    for number in range(230):
        server.comment(f"talk {number}", author="alice")
    mine = server.comment(f"{marker(6)}\nold")
    server.comment("talk", author="alice")
    assert isinstance(post("new"), Posted)
    assert mine.body == f"{marker(7)}\nnew"
    assert posts(server) == 0


def test_another_pull_requests_comment_is_left_alone(server: GithubServer, post: Post) -> None:
    other = server.comment(f"{marker(6)}\nold", issue=2)
    post("new")
    assert other.body == f"{marker(6)}\nold"
    assert posts(server) == 1


@pytest.mark.parametrize("run", [6, 999])
def test_someone_elses_comment_with_our_marker_is_neither_edited_nor_obeyed(
    server: GithubServer, post: Post, run: int
) -> None:
    forged = server.comment(f"{marker(run)}\nAll green, merge me!", author="mallory")
    before = forged.body
    assert isinstance(post("red"), Posted)
    assert forged.body == before
    assert [c.body for c in server.comments if c.author == BOT] == [f"{marker(7)}\nred"]


def test_text_that_quotes_a_marker_does_not_become_the_marker(server: GithubServer, post: Post) -> None:
    post(f"task text: {marker(999)}\n{marker(999)}", run=7)
    post("new", run=8)
    assert [comment.body for comment in server.comments] == [f"{marker(8)}\nnew"]


def test_a_personal_token_finds_its_own_login(server: GithubServer, post: Post) -> None:
    server.tokens["pat"] = Identity(login="octocat", tells=True)
    bots = server.comment(f"{marker(6)}\nthe bot's")
    post("one", token="pat")
    post("two", token="pat", run=8)
    assert [(c.author, c.body) for c in server.comments] == [
        (BOT, bots.body),
        ("octocat", f"{marker(8)}\ntwo"),
    ]


def test_another_apps_token_ends_with_one_comment_too(server: GithubServer, post: Post) -> None:
    server.tokens["app"] = Identity(login="acme-gate[bot]")
    first = post("one", token="app", run=7)
    second = post("two", token="app", run=8)
    assert isinstance(first, Posted)
    assert isinstance(second, Posted)
    assert first.url == second.url
    assert [(c.author, c.body) for c in server.comments] == [("acme-gate[bot]", f"{marker(8)}\ntwo")]


# --- overlapping runs


@pytest.mark.parametrize(("run", "attempt"), [(7, 2), (8, 1), (10, 1)])
def test_an_older_run_leaves_a_newer_text_in_place(server: GithubServer, post: Post, run: int, attempt: int) -> None:
    newer = server.comment(f"{marker(run, attempt)}\nnewer")
    got = post("older", run=7, attempt=1)
    assert isinstance(got, Posted)
    assert got.outcome == "superseded"
    assert newer.body.endswith("newer")
    assert writes(server) == []


def test_twins_become_the_oldest_comment_with_the_newest_text(server: GithubServer, post: Post) -> None:
    oldest = server.comment(f"{marker(4)}\nfour")
    server.comment(f"{marker(9)}\nnine")
    server.comment(f"{marker(5)}\nfive")
    talk = server.comment("talk", author="alice")
    got = post("seven", run=7)
    assert isinstance(got, Posted)
    assert got.outcome == "superseded"
    assert server.comments == [oldest, talk]
    assert oldest.body == f"{marker(9)}\nnine"


def test_two_runs_that_post_at_the_same_moment_end_as_one(server: GithubServer, post: Post) -> None:
    meeting = threading.Barrier(2, timeout=10)

    def both_have_read_before_either_posts(method: str, path: str) -> None:
        if method == "POST":
            meeting.wait()

    server.before = both_have_read_before_either_posts
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda run: post(f"run {run}", run=run), [7, 8]))
    assert all(isinstance(result, Posted) for result in results)
    assert posts(server) == 2
    assert [comment.body for comment in server.comments] == [f"{marker(8)}\nrun 8"]


def test_a_newer_run_mends_what_an_older_one_wrote_over_it(server: GithubServer, post: Post) -> None:
    kept = server.comment(f"{marker(5)}\nfive")
    slow = f"{marker(6)}\nsix, decided before run 7 wrote"
    patched: list[str] = []

    def an_older_run_writes_right_after(method: str, path: str) -> None:
        if method == "GET" and path.endswith("/comments") and "PATCH" in writes(server) and not patched:
            patched.append(path)
            kept.body = slow

    server.before = an_older_run_writes_right_after
    post("seven", run=7)
    assert patched
    assert kept.body == f"{marker(7)}\nseven"


def test_a_comment_deleted_meanwhile_is_written_anew(server: GithubServer, post: Post) -> None:
    gone = server.comment(f"{marker(5)}\nfive")

    def delete(method: str, path: str) -> None:
        if method == "PATCH" and gone in server.comments:
            server.comments.remove(gone)

    server.before = delete
    assert isinstance(post("seven"), Posted)
    assert [comment.body for comment in server.comments] == [f"{marker(7)}\nseven"]


# --- when GitHub says no


@pytest.mark.parametrize("status", [500, 502])
def test_a_post_that_landed_although_it_failed_is_not_repeated(server: GithubServer, post: Post, status: int) -> None:
    server.fail(status, method="POST", after=True)
    got = post("one")
    assert isinstance(got, Posted)
    assert got.outcome == "created"
    assert len(server.comments) == 1
    assert posts(server) == 1


def test_a_post_that_did_not_land_is_tried_again_after_a_look(server: GithubServer, post: Post) -> None:
    server.fail(502, method="POST")
    assert isinstance(post("one"), Posted)
    assert len(server.comments) == 1
    verbs = [request.split()[0] for request in server.requests if "comments" in request]
    assert verbs == ["GET", "POST", "GET", "POST", "GET"]


def test_an_outage_while_posting_is_a_reason_and_no_exception(server: GithubServer, post: Post) -> None:
    server.fail(503, times=99, method="POST")
    got = post("one")
    assert isinstance(got, Refused)
    assert "503" in got.reason
    assert got.permission == ""
    assert posts(server) == 5


def test_an_outage_while_reading_is_a_reason_and_no_exception(server: GithubServer, post: Post) -> None:
    server.fail(500, times=99)
    got = post("one")
    assert isinstance(got, Refused)
    assert "500" in got.reason


def test_a_secondary_limit_is_waited_for_as_told(server: GithubServer, connected: Connect) -> None:
    server.fail(429, method="POST", headers={"Retry-After": "17"})
    slept: list[float] = []
    thread = ApiThread(client=connected(server.url), full_name="acme/shop", pull_request=1)
    assert isinstance(upsert_comment(thread, marker(7), "x", run_url=RUN_URL, sleep=slept.append), Posted)
    assert slept == [17]


@pytest.mark.parametrize("existing", [False, True])
def test_a_read_only_token_names_the_permission(server: GithubServer, post: Post, existing: bool) -> None:
    server.tokens["read"] = Identity(read_only=True)
    if existing:
        server.comment(f"{marker(5)}\nold")
    before = [comment.body for comment in server.comments]
    got = post("new", token="read")
    assert got == Refused(reason="403 Resource not accessible by integration", permission="pull-requests: write")
    assert [comment.body for comment in server.comments] == before


def test_a_locked_conversation_needs_no_permission(server: GithubServer, post: Post) -> None:
    server.fail(403, method="POST", message="Unable to create comment because issue is locked.")
    got = post("new")
    assert isinstance(got, Refused)
    assert got.permission == ""
    assert "locked" in got.reason


def test_a_bad_token_is_a_reason_and_no_exception(server: GithubServer, post: Post) -> None:
    got = post("new", token="wrong")
    assert isinstance(got, Refused)
    assert "401" in got.reason


def test_nobody_at_the_address_is_a_reason_and_no_exception(connected: Connect) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        client = connected(f"http://127.0.0.1:{silent.getsockname()[1]}")
        thread = ApiThread(client=client, full_name="acme/shop", pull_request=1)
        assert isinstance(upsert_comment(thread, marker(7), "x", run_url=RUN_URL), Refused)


# --- the pull request, found by its head

HEAD = Head(owner="mallory", branch="fix:it", sha="b" * 40)


def test_the_comment_goes_to_the_open_pull_request_with_that_head(server: GithubServer, connected: Connect) -> None:
    server.pull(3, head="mallory:fix:it", sha=HEAD.sha, state="closed")
    server.pull(4, head="acme:fix:it", sha=HEAD.sha)
    server.pull(5, head="mallory:fix:it", sha=HEAD.sha)
    thread = ApiThread(client=connected(server.url), full_name="acme/shop", pull_request=HEAD)
    assert isinstance(upsert_comment(thread, marker(7), "x", run_url=RUN_URL), Posted)
    assert [comment.issue for comment in server.comments] == [5]
    again = upsert_comment(thread, marker(8), "y", run_url=RUN_URL)
    assert isinstance(again, Posted)
    assert again.outcome == "updated"
    assert len(server.comments) == 1


@pytest.mark.parametrize(
    ("shas", "reason"),
    [
        ([], "no open pull request has mallory:fix:it at bbbbbbbbbbbb as its head"),
        (["c" * 40], "no open pull request has mallory:fix:it at bbbbbbbbbbbb as its head"),
        ([HEAD.sha] * 2, "pull requests 1, 2 all have mallory:fix:it at bbbbbbbbbbbb as its head"),
    ],
    ids=["none", "one that moved on", "one into each of two branches"],
)
def test_without_exactly_one_such_pull_request_nothing_is_written(
    server: GithubServer, connected: Connect, shas: list[str], reason: str
) -> None:
    for number, sha in enumerate(shas, start=1):
        server.pull(number, head="mallory:fix:it", sha=sha)
    thread = ApiThread(client=connected(server.url), full_name="acme/shop", pull_request=HEAD)
    assert upsert_comment(thread, marker(7), "x", run_url=RUN_URL) == Refused(reason=reason)
    assert writes(server) == []


# --- the size


def test_a_body_at_the_limit_is_whole_and_one_above_is_cut() -> None:
    assert fit("x" * MAX_CHARACTERS, link=RUN_URL) == "x" * MAX_CHARACTERS
    rows = "\n".join(["| 🌈 row |"] * 10_000)
    cut = fit(rows, link=RUN_URL)
    assert MAX_CHARACTERS - 20 < len(cut) <= MAX_CHARACTERS
    *kept, blank, note = cut.rstrip("\n").split("\n")
    assert set(kept) == {"| 🌈 row |"}
    assert blank == ""
    assert f"]({RUN_URL})" in note


def test_a_cut_closes_what_it_leaves_open() -> None:
    body = "table\n<details><summary>x</summary>\n\n```python\n" + "code\n" * 100 + "```\n\n</details>\n"
    cut = fit(body, link=RUN_URL, limit=300)
    assert len(cut) <= 300
    assert cut.count("```") == 2
    assert cut.count("</details>") == 1
    assert cut.index("</details>") < cut.index("Cut here")


@given(body=st.text(alphabet="ab\n`<>/🌈", max_size=400), limit=st.integers(200, 300))
def test_a_cut_body_never_exceeds_the_limit(body: str, limit: int) -> None:
    assert len(fit(body, link=RUN_URL, limit=limit)) <= limit


def test_github_takes_the_longest_body_that_we_make(server: GithubServer, post: Post) -> None:
    assert isinstance(post("| 🌈 | `x` |\n" * 20_000), Posted)
    assert len(server.comments[0].body) > MAX_CHARACTERS - 100
    assert server.comments[0].body.startswith(str(marker(7)))
