"""What the client does, with a real server: BASHD names it. The configuration asks before `touch`."""

import asyncio
import os
import time
import unittest
from pathlib import Path

from bashd import (
    Client,
    CommandDenied,
    CommandFailed,
    EndedAtOnce,
    OutputEvent,
    RequestFailed,
    StartedEvent,
    SyncClient,
)


class Commands(unittest.IsolatedAsyncioTestCase):
    async def test_a_command_is_an_outcome_whatever_its_status(self):
        async with Client() as client:
            reply = await client.run("echo out; echo err >&2; exit 3")
            self.assertEqual((reply.exit_code, reply.output, reply.error), (3, "out\nerr\n", None))
            with self.assertRaises(CommandFailed) as failed:
                await client.run("echo why; exit 3", check=True)
            self.assertEqual(failed.exception.reply.exit_code, 3)
            self.assertEqual(str(failed.exception), "exit status 3\nwhy")
            self.assertEqual((await client.run("true", check=True)).exit_code, 0)

    async def test_options_are_those_of_the_tool(self):
        async with Client() as client:
            reply = await client.run("pwd; echo $A; cat", cwd="/", env={"A": "b"}, stdin="given")
            self.assertEqual(reply.output, "/\nb\ngiven")
            with self.assertRaises(RequestFailed) as refused:
                await client.run("true", nonsense=1)  # type: ignore[call-arg]
            self.assertIn("nonsense", str(refused.exception))

    async def test_a_timeout_ends_the_command(self):
        async with Client() as client:
            reply = await client.run("echo so far; sleep 60", timeout=1)
            self.assertTrue(reply.timed_out)
            self.assertEqual((reply.output, reply.job), ("so far\n", None))

    async def test_output_comes_as_it_is_written(self):
        async with Client() as client:
            async with client.stream("echo one; sleep 0.3; echo two >&2") as running:
                seen = [event async for event in running]
                reply = await running.reply()
            self.assertIsInstance(seen[0], StartedEvent)
            texts = [event.text for event in seen if isinstance(event, OutputEvent)]
            self.assertEqual(texts, ["one\n", "two\n"])
            self.assertEqual(reply.exit_code, 0)

    async def test_a_call_that_is_cancelled_says_what_it_wrote(self):
        async with Client() as client:
            async with client.stream("echo begun; sleep 60") as running:
                async for _ in running.output():
                    await running.cancel()
                reply = await running.reply()
            self.assertEqual((reply.cancelled, reply.output), (True, "begun\n"))

    async def test_who_stops_waiting_ends_the_command(self):
        async with Client() as client:
            marks = Path("ended-by-cancel")
            with self.assertRaises(asyncio.TimeoutError):
                command = f"trap 'echo ended >{marks}; exit' TERM; echo; sleep 60 & wait"
                await asyncio.wait_for(client.run(command), 0.5)
            await until(marks.exists)

    async def test_a_session_keeps_its_shell(self):
        async with Client() as client:
            session = client.session("build")
            await session.run("cd /; greet() { echo hello $1; }")
            self.assertEqual((await session.run("greet you; pwd")).output, "hello you\n/\n")
            async with await session.stream("pwd") as running:
                self.assertEqual([text async for text in running.output()], ["/\n"])

    async def test_stored_output_is_read_in_parts(self):
        async with Client() as client:
            reply = await client.run("seq 1 100000")
            self.assertGreater(reply.omitted_bytes, 0)
            assert reply.artifact is not None
            part = await client.read_artifact(reply.artifact, from_line=50000, to_line=50001)
            self.assertEqual(part.output, "50000\n50001\n")
            found = await client.read_artifact(reply.artifact, grep="^9999[89]$")
            self.assertEqual(found.output, "99998:99998\n99999:99999\n")
            with self.assertRaises(RequestFailed):
                await client.read_artifact("artifact://9999")

    async def test_a_models_call_is_answered_with_a_text(self):
        async with Client() as client:
            reply = await client.call({"command": "exit 3"})
            self.assertEqual(reply.text, "[exit code 3]")
            reply = await client.call({"wrong": 1})
            self.assertTrue(reply.is_error)
            bash, job, artifact = await client.tools()
            self.assertEqual((bash.name, job.name, artifact.name), ("bash", "job", "artifact"))
            self.assertEqual((await bash.call({"command": "echo hi"})).text, "hi\n")
            self.assertFalse((await job.call({"action": "list"})).is_error)
            answer = await artifact.call({"id": "artifact://9999"})
            self.assertTrue(answer.is_error, answer.text)
            (phoenix,) = await client.tools("phoenix")
            self.assertIn("mode", phoenix.input_schema["properties"])
            self.assertEqual((await phoenix.call({"command": "echo hi", "mode": "slow"})).text, "hi\n")


class Jobs(unittest.IsolatedAsyncioTestCase):
    async def test_a_job_is_started_fed_read_awaited_and_ended(self):
        ended = asyncio.Event()
        async with Client(on_job_ended=lambda event: ended.set()) as client:
            job = await client.start("echo ready; read x; echo got $x; sleep 60", stdin_open=True, until={"regex": "ready"})
            self.assertIn(job.id, [one.id for one in await client.jobs()])
            self.assertEqual(await job.send("this\n"), 5)
            waited = await job.wait(regex="got (.*)", timeout=20)
            self.assertEqual((waited.met, waited.by), ("yes", "got this"))
            self.assertEqual((await job.wait(timeout=0.1)).met, "not_yet")
            self.assertEqual((await job.read()).text, "ready\ngot this\n")
            await job.rename("mine")
            self.assertEqual((await job.info()).name, "mine")
            await job.signal("KILL")
            await asyncio.wait_for(ended.wait(), 20)
            self.assertEqual((await job.info()).state, "killed")
            with self.assertRaises(RequestFailed):
                await client.job("none").info()

    async def test_a_terminal_is_driven(self):
        async with Client() as client:
            job = await client.start("read -p 'name? ' x; echo hello $x; sleep 60", pty=True)
            self.assertEqual((await job.screen(regex="name", timeout=20)).lines[0], "name?")
            await job.send("you", keys=["Enter"])
            self.assertIn("hello you", (await job.screen(regex="hello", timeout=20)).lines)
            self.assertEqual((await job.end()).state, "killed")

    async def test_a_job_outlives_its_server_and_is_found_by_the_next(self):
        async with Client() as client:
            job = await client.start("echo begun; sleep 60", until={"regex": "begun"})
        async with Client() as client:
            self.assertEqual((await client.job(job.id).read()).text, "begun\n")
            self.assertEqual((await client.job(job.id).end()).state, "killed")

    async def test_what_ends_at_once_is_no_job(self):
        async with Client() as client:
            # It has 300 ms to end, which a busy machine may need for less.
            for _ in range(10):
                try:
                    await client.start("echo no; exit 7")
                except EndedAtOnce as ended:
                    self.assertEqual(ended.reply.exit_code, 7)
                    return
            self.fail("it always became a job")


class Approvals(unittest.IsolatedAsyncioTestCase):
    async def test_the_user_is_asked_and_says_for_how_long(self):
        asked = []

        async def approve(approval):
            asked.append((approval.command, approval.rule))
            return "session" if len(asked) == 1 else False

        async with Client(approve=approve) as client:
            await client.run("touch one")
            await client.run("touch one")
            self.assertEqual(asked, [("touch one", "ask-touch")])
            with self.assertRaises(CommandDenied) as denied:
                await client.run("touch two")
            self.assertEqual(denied.exception.denied.rule, "ask-touch")
        self.assertEqual((Path("one").exists(), Path("two").exists()), (True, False))

    async def test_a_plain_function_may_wait_for_its_user(self):
        async with Client(approve=lambda _: time.sleep(0.3) or True) as client:
            asking = asyncio.ensure_future(client.run("touch three"))
            self.assertEqual((await client.run("echo meanwhile")).output, "meanwhile\n")
            self.assertFalse(asking.done())
            self.assertEqual((await asking).exit_code, 0)

    async def test_without_a_user_the_answer_is_no(self):
        async with Client() as client:
            with self.assertRaises(CommandDenied):
                await client.run("touch four")


class WithoutAsyncio(unittest.TestCase):
    def test_every_method_waits(self):
        with SyncClient(approve=lambda approval: approval.command == "touch five") as client:
            self.assertEqual(client.run("echo hi").output, "hi\n")
            self.assertEqual(client.run("touch five").exit_code, 0)
            with client.stream("echo a; sleep 0.2; echo b") as running:
                self.assertEqual(list(running.output()), ["a\n", "b\n"])
                self.assertEqual(running.reply().exit_code, 0)
            session = client.session("s")
            session.run("cd /")
            self.assertEqual(session.run("pwd").output, "/\n")
            job = client.start("echo up; read x; echo $x; sleep 60", stdin_open=True)
            job.send("fed\n")
            self.assertEqual(job.wait(regex="fed").met, "yes")
            self.assertEqual(job.read(tail=1).text, "fed\n")
            self.assertIn(job.id, [one.id for one in client.jobs()])
            self.assertEqual(client.job(job.id).end().state, "killed")
            stored = client.run("seq 1 100000").artifact
            assert stored is not None
            self.assertEqual(client.read_artifact(stored, tail=1).output, "100000\n")
            self.assertEqual(client.tools()[0].call({"command": "echo hi"}).text, "hi\n")
            self.assertEqual(client.call({"command": "exit 3"}).exit_code, 3)

    def test_patience_ends(self):
        with SyncClient(patience=5) as client:
            began = time.monotonic()
            with self.assertRaises(TimeoutError):
                client._patience = 0.3
                client.run("sleep 60")
            self.assertLess(time.monotonic() - began, 5)
            client._patience = 20
            self.assertEqual(client.run("echo alive").output, "alive\n")
        with self.assertRaises(RuntimeError):
            client.run("true")


async def until(is_so):
    for _ in range(400):
        if is_so():
            return
        await asyncio.sleep(0.025)
    raise AssertionError("it did not happen in time")


if __name__ == "__main__":
    os.chdir(os.environ.get("WORKSPACE", "."))
    unittest.main()
