"""A server for tests: `honeycomb serve` of the program that HONEYCOMB names."""

import os
import subprocess


class Server:
    """Runs until `stop`, at a port that the system chooses. `flags` are further parameters."""

    def __init__(self, *flags, memory="64MiB"):
        command = [os.environ["HONEYCOMB"], "serve", "--address", "127.0.0.1:0", "--memory", memory]
        command += ["--log-level", "warn", *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = int(line.split(";")[0].rsplit(":", 1)[1])
        # The port of batch datagrams and the address of the metrics, if the server has them.
        self.batch = self._port() if "--batch" in flags else None
        self.metrics = self.process.stdout.readline().split()[-1] if "--metrics" in flags else None

    def _port(self):
        return int(self.process.stdout.readline().split(",")[0].rsplit(":", 1)[1])

    def stop(self):
        """Stops the server. Returns whether it ended without an error."""
        self.process.terminate()
        self.process.stdout.close()
        return self.process.wait(timeout=20) == 0
