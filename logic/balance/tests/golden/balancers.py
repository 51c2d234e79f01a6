"""What the scripts that record HAProxy and NGINX share: the servers, how a balancer is started and asked, and what is written."""

import contextlib
import http.client
import pathlib
import random
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


def words(seed, count, make):
    """So many different texts, the same ones each time."""
    generator, found = random.Random(seed), {}
    while len(found) < count:
        found[make(generator)] = None
    return list(found)


def header(generator):
    host = f"{generator.choice(['www', 'a.b', 'cdn', 'x-1'])}.host{generator.randrange(900)}.{generator.choice(['org', 'de', 'co.uk'])}"
    number = f"{generator.getrandbits(64):x}"
    return generator.choice([host, host + ":8080", number, f"{number}, second", f'"quoted, {number}", x', "a" * generator.randrange(1, 60)])


def haproxy(fronts, bind="", servers=SERVERS, words="", program=("haproxy",)):
    """The config of HAProxy with (port, balance, hash-type, "down: " and the index of a server) fronts; the last may be missing. Its
    servers have these words, too."""
    lines = ["defaults", " mode http", " timeout connect 5s", " timeout client 50s", " timeout server 50s"]
    for port, balance, hash_type, *down in fronts:
        lines += [f"listen front{port}", f" bind 127.0.0.1:{port}{bind}", f" balance {balance}", f" hash-type {hash_type}"]
        state = ["" if down != [f"down: {at}"] else " disabled" for at in range(len(servers))]
        lines += [f" server s{at} {ip}:{port} weight {WEIGHTS[at]}{words}{state[at]}" for at, (ip, port) in enumerate(servers)]
    for at, (ip, port) in enumerate(servers):
        lines += [f"listen s{at}", f" bind {ip}:{port}"]
        lines += [f' http-request return status 200 content-type text/plain string "{at}"']
    return "\n".join(lines) + "\n", lambda file: [*program, "-db", "-q", "-f", file]


def picks(config, command, ports, keys, request):
    """For each key the servers that the fronts at these ports choose for `request(key)`, a target and headers."""
    def answer(front, key):
        target, headers = request(key)
        front.putrequest("GET", target, skip_accept_encoding=True)
        for name, value in headers.items():
            front.putheader(name, value)
        front.endheaders()
        return front.getresponse().read().decode()

    with running(config, command, ports):
        fronts = [http.client.HTTPConnection("127.0.0.1", port, timeout=10) for port in ports]
        return ["".join(answer(front, key) for front in fronts) for key in keys]


def write(name, columns, keys, answers):
    lines = [f"# {column}\n" for column in columns] + [f"{digits} {key}\n" for key, digits in zip(keys, answers)]
    pathlib.Path(__file__).with_name(f"{name}.txt").write_text("".join(lines))
