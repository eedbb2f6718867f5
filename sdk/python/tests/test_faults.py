"""What the client says when something is wrong: a dead server, none, another version, callbacks that fail, much at once."""

import asyncio
import logging
import os
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import bashd
from bashd import (
    BashdError,
    BinaryNotFound,
    Client,
    CommandDenied,
    RequestFailed,
    ServerGone,
    SessionLost,
    SyncClient,
    WrongProtocol,
)

logging.getLogger("bashd").setLevel(logging.CRITICAL)


def program(text):
    """A script that stands in for bashd."""
    file, path = tempfile.mkstemp(dir=".", prefix="stand-in-")
    os.write(file, f"#!/bin/sh\n{text}\n".encode())
    os.fchmod(file, stat.S_IRWXU)
    os.close(file)
    return os.path.abspath(path)


class Servers(unittest.IsolatedAsyncioTestCase):
    async def test_a_server_that_is_killed_in_a_call_is_told_and_replaced(self):
        async with Client() as client:
            session = client.session("s")
            await session.run("X=1")
            calls = [asyncio.ensure_future(client.run("echo; sleep 60")) for _ in range(3)]
            stream = client.stream("echo begun; sleep 60")
            async for _ in stream.output():
                os.kill(client._connection._process.pid, signal.SIGKILL)
            for gone in [*calls, asyncio.ensure_future(stream.reply())]:
                with self.assertRaises(ServerGone) as told:
                    await gone
                self.assertTrue(told.exception.may_have_run)
                self.assertEqual(str(told.exception), "bashd rpc was killed by signal 9, before it answered")
            # The next one is another server; nothing was sent to the dead one.
            self.assertEqual((await client.run("echo again")).output, "again\n")
            # Its sessions are gone, which is said once.
            with self.assertRaises(SessionLost):
                await session.run("echo $X")
            self.assertEqual((await session.run("echo ${X-none}")).output, "none\n")

    async def test_a_server_that_died_between_calls_is_replaced_without_a_word(self):
        async with Client() as client:
            process = client._connection._process
            process.kill()
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            self.assertEqual((await client.run("echo again")).output, "again\n")

    async def test_a_missing_binary_is_named(self):
        with mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
            os.environ.pop("BASHD", None)
            with self.assertRaisesRegex(BinaryNotFound, "no bashd on PATH"):
                await Client().run("true")
            os.environ["BASHD"] = "/no/such/bashd"
            with self.assertRaisesRegex(BinaryNotFound, "BASHD names /no/such/bashd"):
                await Client().run("true")
        with self.assertRaisesRegex(BinaryNotFound, "/no/such/bashd does not exist"):
            await Client(binary="/no/such/bashd").run("true")

    async def test_another_version_of_the_protocol_is_refused_and_named(self):
        answer = '{"id":"1","type":"response","command":"hello","success":true,"data":{"protocol":9,"version":"9.1"}}'
        stand_in = program(f"read hello; echo '{answer}'; cat >/dev/null")
        with self.assertRaisesRegex(WrongProtocol, "bashd 9.1 speaks version 9 of the protocol, and this package version 1"):
            await Client(binary=stand_in).run("true")

    async def test_a_server_that_does_not_start_says_why(self):
        with self.assertRaises(ServerGone) as gone:
            await Client(profile="nonsense").run("true")
        self.assertIn("exited with status 125", str(gone.exception))
        self.assertIn("there is no profile `nonsense`", str(gone.exception))
        self.assertFalse(gone.exception.may_have_run)

    async def test_a_server_that_says_nothing_is_given_up(self):
        with mock.patch("bashd.client.ANSWER_WITHIN", 0.3):
            with self.assertRaisesRegex(ServerGone, "did not answer within 0.3 s"):
                await Client(binary=program("cat >/dev/null")).run("true")

    async def test_a_server_that_says_nonsense_is_given_up(self):
        for nonsense in ["hello", "[1]", "{}", "null"]:
            with self.assertRaisesRegex(ServerGone, "no message"):
                await Client(binary=program(f"echo '{nonsense}'; cat >/dev/null")).run("true")

    async def test_a_closed_client_says_so(self):
        client = Client()
        await client.run("true")
        process = client._connection._process
        running = asyncio.ensure_future(client.run("sleep 60"))
        await asyncio.sleep(0.1)
        await client.close()
        self.assertEqual(process.returncode, 0)
        self.assertTrue((await running).cancelled)
        with self.assertRaisesRegex(BashdError, "closed"):
            await client.run("true")
        await client.close()

    async def test_a_server_on_a_socket_is_shared(self):
        server = subprocess.Popen([os.environ["BASHD"], "rpc", "--socket", "s"])
        try:
            while not Path("s").exists():
                await asyncio.sleep(0.02)
            async with Client(socket="s") as one, Client(socket="s") as two:
                replies = await asyncio.gather(one.run("echo 1"), two.run("echo 2"))
                self.assertEqual([reply.output for reply in replies], ["1\n", "2\n"])
                gone = one.stream("echo begun; sleep 60")
                async for _ in gone.output():
                    server.terminate()
                # The server answers what it ends.
                self.assertTrue((await gone.reply()).cancelled)
                server.wait()
                # What is sent before the end of the connection is seen may have run.
                while two._connection.is_alive:
                    await asyncio.sleep(0.01)
                with self.assertRaisesRegex(ServerGone, "nobody serves s"):
                    await two.run("true")
        finally:
            server.kill()
            server.wait()
        with self.assertRaises(ValueError):
            Client(socket="s", profile="default")


class Callbacks(unittest.IsolatedAsyncioTestCase):
    async def test_a_callback_that_fails_is_a_no_and_the_cause(self):
        async def approve(approval):
            raise ZeroDivisionError("oh")

        async with Client(approve=approve) as client:
            with self.assertRaises(CommandDenied) as denied:
                await client.run("touch never")
            self.assertIsInstance(denied.exception.__cause__, ZeroDivisionError)
            self.assertEqual((await client.run("echo alive")).output, "alive\n")
        async with Client(approve=lambda _: "maybe") as client:
            with self.assertRaises(CommandDenied) as denied:
                await client.run("touch never")
            self.assertIsInstance(denied.exception.__cause__, ValueError)
        self.assertFalse(Path("never").exists())

    async def test_a_callback_for_the_end_of_a_job_that_fails_ends_nothing_else(self):
        told = asyncio.Event()

        def ended(event):
            told.set()
            raise ZeroDivisionError("oh")

        async with Client(on_job_ended=ended) as client:
            job = await client.start("sleep 600")
            await job.signal("KILL")
            await asyncio.wait_for(told.wait(), 20)
            self.assertEqual((await client.run("echo alive")).output, "alive\n")

    async def test_a_cancel_while_the_user_is_asked_withdraws_the_question(self):
        asked, withdrawn = asyncio.Event(), asyncio.Event()

        async def approve(approval):
            asked.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                withdrawn.set()
                raise
            return True

        async with Client(approve=approve) as client:
            waiting = asyncio.ensure_future(client.run("touch never"))
            await asyncio.wait_for(asked.wait(), 20)
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            await asyncio.wait_for(withdrawn.wait(), 20)
            self.assertEqual((await client.run("echo alive")).output, "alive\n")
        self.assertFalse(Path("never").exists())


class Much(unittest.IsolatedAsyncioTestCase):
    async def test_a_hundred_calls_at_once(self):
        async with Client() as client:
            replies = await asyncio.gather(*(client.run(f"echo {number}") for number in range(100)))
        self.assertEqual([reply.output for reply in replies], [f"{number}\n" for number in range(100)])

    async def test_ten_megabytes_of_output(self):
        async with Client() as client:
            async with client.stream("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo end") as running:
                texts = [text async for text in running.output()]
                reply = await running.reply()
            whole = "".join(texts)
            self.assertEqual((len(whole), whole[-5:]), (10_000_005, "\nend\n"))
            self.assertEqual(reply.output_bytes, 10_000_005)
            self.assertLess(len(reply.output), 40_000)
            assert reply.artifact is not None
            self.assertEqual((await client.read_artifact(reply.artifact, tail=1)).output, "end\n")

    async def test_a_request_that_is_too_long_is_refused(self):
        async with Client() as client:
            with self.assertRaisesRegex(RequestFailed, "8 MiB"):
                await client.run("#" * 9_000_000)
            self.assertEqual((await client.run("echo alive")).output, "alive\n")

    async def test_text_of_any_kind(self):
        async with Client() as client:
            text = "grüße 🦀 日本 \u2028 \\ \" '"
            reply = await client.run("cat; printf '\\303\\050'", stdin=text)
            self.assertEqual(reply.output, text + "\ufffd(")
            with self.assertRaises(RequestFailed):
                await client.run("echo \ud800")
            self.assertEqual((await client.run("printf '%s' \"$A\"", env={"A": text})).output, text)


class Programs(unittest.TestCase):
    def test_a_program_that_never_closes_leaves_nothing(self):
        script = "import bashd; print(bashd.SyncClient().run('exit 3').exit_code)"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.stdout, done.returncode), ("3\n", 0), done.stderr)

    def test_a_program_that_is_killed_leaves_nothing(self):
        # Whoever started this test looks for processes that it left.
        script = "import bashd\nfor text in bashd.SyncClient().stream('echo begun; sleep 600').output(): print(text, flush=True)"
        program = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        with program:
            self.assertEqual(program.stdout.readline(), "begun\n")
            program.kill()

    def test_a_client_is_for_one_loop(self):
        client = Client()
        asyncio.run(client.connect())
        with self.assertRaisesRegex(BashdError, "another event loop"):
            asyncio.run(client.connect())
        client._connection._process.stdin.close()
        client._connection._process.wait(20)

    def test_a_question_that_nobody_answers_does_not_keep_the_program(self):
        script = (
            "import asyncio, bashd, time\n"
            "async def main():\n"
            "    async with bashd.Client(approve=lambda _: time.sleep(600)) as client:\n"
            "        await asyncio.wait_for(client.run('touch never'), 0.5)\n"
            "asyncio.run(main())\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
        self.assertIn("TimeoutError", done.stderr)

    def test_ctrl_c_ends_the_command_and_not_the_client(self):
        with SyncClient() as client:
            old = signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            try:
                with self.assertRaises(KeyboardInterrupt):
                    client.run("sleep 60")
            finally:
                signal.signal(signal.SIGALRM, old)
            self.assertEqual(client.run("echo alive").output, "alive\n")

    def test_the_version_is_the_packages(self):
        self.assertRegex(bashd.__version__, r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    os.chdir(os.environ.get("WORKSPACE", "."))
    unittest.main()
