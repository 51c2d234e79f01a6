"""What the scripts that record HAProxy and NGINX share: the servers, and how a balancer is started."""

import contextlib
import pathlib
import socket
import subprocess
import tempfile
import time

WEIGHTS = [1, 2, 3, 1, 5]
# Ketama goes by addresses: these are in its file, and must not change with every recording.
SERVERS = [("127.0.3.1", 18_081 + at) for at in range(len(WEIGHTS))]


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for number in sockets:
        number.bind(("127.0.0.1", 0))
    ports = [number.getsockname()[1] for number in sockets]
    for number in sockets:
        number.close()
    return ports


def wait_until_up(port):
    for _ in range(100):
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
    raise SystemExit("nobody listens")


@contextlib.contextmanager
def running(config, command, ports):
    """A balancer with this config, as long as its ports are used."""
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory, "config")
        file.write_text(config)
        process = subprocess.Popen(command(file))
        try:
            for port in ports:
                wait_until_up(port)
            yield
        finally:
            process.terminate()
            process.wait()
