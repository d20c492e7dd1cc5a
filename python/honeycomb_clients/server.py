"""A server to test: `honeycomb serve`, the program that HONEYCOMB names."""

import os
import subprocess


class Server:
    """Runs until it is stopped, at a port that the system chose; `flags` are further parameters."""

    def __init__(self, *flags, memory="64MiB"):
        command = [os.environ["HONEYCOMB"], "serve", "--address", "127.0.0.1:0", "--memory", memory]
        command += ["--log-level", "warn", *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = int(line.split(";")[0].rsplit(":", 1)[1])
        # Where its metrics are, if they are anywhere.
        self.metrics = self.process.stdout.readline().split()[-1] if "--metrics" in flags else None

    def stop(self):
        """Ends it, and says whether that went well."""
        self.process.terminate()
        self.process.stdout.close()
        return self.process.wait(timeout=20) == 0
