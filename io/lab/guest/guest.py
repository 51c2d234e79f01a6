#!/usr/bin/env python3
"""Plays a scenario of the lab in a guest whose kernel has LVS; see README.md beside this file.

Exits as `weir lab run` does in there; with 2 if it could not be done, or a rival was left out.
"""

import argparse
import contextlib
import ctypes
import json
import lzma
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
# What the lab calls beside Weir, and who is compared. `nginx` is the web server, too.
PROGRAMS = ['busybox', 'ip', 'tc', 'unshare', 'chrt', 'nft', 'ipvsadm', 'haproxy', 'nginx']
# What init and the lab's own scripts call, and busybox is.
APPLETS = ['sh', 'mount', 'mkdir', 'insmod', 'sleep', 'tar', 'sync', 'poweroff']
# Programs run as root; the others are those whom NGINX and HAProxy may ask for.
USERS = {'root': 0, 'www-data': 33, 'nobody': 65534}
DISK_BYTES = 1 << 30
# What the lab makes of a comparison.
FORMS = ['.sqlite', '.html', '.md', '.csv', '.json']


class Trouble(Exception):
    """Why it could not be done."""


class Archive:
    """The guest's files, as its kernel unpacks them: cpio's form "newc" (buffer-format.rst of the kernel's documentation)."""

    def __init__(self, out):
        self.out, self.names = out, set()

    def directory(self, path):
        self.add(path, stat.S_IFDIR | 0o755, b'')

    def link(self, path, target):
        self.add(path, stat.S_IFLNK | 0o777, target.encode())

    def file(self, path, data, mode=0o644):
        self.add(path, stat.S_IFREG | mode, data)

    def add(self, path, mode, data):
        """With the directories that it is in; what is there already stays."""
        path = path.strip('/')
        parent = os.path.dirname(path)
        if parent:
            self.directory(parent)
        if path not in self.names:
            self.names.add(path)
            self.write(path, mode, data)

    def write(self, path, mode, data):
        name = path.encode() + b'\0'
        # Number, mode, user, group, links, time, size, two devices of two parts each, length of the name, checksum.
        fields = [len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0]
        head = b'070701' + b''.join(b'%08X' % field for field in fields)
        for part in [head + name, data]:
            self.out.write(part + b'\0' * (-len(part) % 4))

    def close(self):
        self.write('TRAILER!!!', 0, b'')


def program(name):
    """Where a program is; daemons live in directories that are not in every PATH."""
    found = shutil.which(name, path=os.environ.get('PATH', '') + ':/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin')
    if not found:
        raise Trouble(f'there is no program {name}: `scripts/setup lvs` installs what the guest needs')
    return pathlib.Path(found)


def libraries(path):
    """What a program loads; nothing, if it is static or a script."""
    done = subprocess.run(['ldd', path], capture_output=True, text=True)
    missing = re.findall(r'(\S+) => not found', done.stdout)
    if missing:
        raise Trouble(f'{path} misses {", ".join(missing)}')
    return re.findall(r'(/\S+) \(0x', done.stdout)


def pack(archive, weir, programs, modules, play, scenario):
    """Everything that the guest has: this machine's programs and their libraries, modules, and what is played."""
    for directory in ['dev', 'proc', 'sys', 'tmp', 'run', 'root', 'lab']:
        archive.directory(directory)
    # `ip` keeps namespaces under the one name, the lab under the other.
    archive.link('var/run', '/run')
    for name, path in {'weir': weir, **programs}.items():
        archive.file('bin/busybox' if name == 'busybox' else f'usr/sbin/{name}', path.read_bytes(), 0o755)
        for library in libraries(path):
            archive.file(library, pathlib.Path(library).read_bytes(), 0o755)
    for name in APPLETS:
        archive.link(f'bin/{name}', 'busybox')
    archive.file('etc/passwd', ''.join(f'{name}:x:{number}:{number}::/root:/bin/sh\n' for name, number in USERS.items()).encode())
    archive.file('etc/group', ''.join(f'{name}:x:{number}:\n' for name, number in [*USERS.items(), ('nogroup', 65533)]).encode())
    archive.file('etc/hosts', b'127.0.0.1 localhost\n')
    for path in modules:
        data = path.read_bytes()
        archive.file(f'modules/{path.name.removesuffix(".xz")}', lzma.decompress(data) if path.suffix == '.xz' else data)
    archive.file('modules/list', ''.join(f'{path.name.removesuffix(".xz")}\n' for path in modules).encode())
    archive.file('lab/play', play.encode())
    if scenario:
        archive.file(f'lab/{scenario.name}', scenario.read_bytes())
    archive.file('init', (HERE / 'init').read_bytes(), 0o755)
    archive.close()


def modules_of(kernel):
    """Files of the modules that the guest needs, in the order in which they must be loaded."""
    text = (HERE / 'modules').read_text()
    names = [line for line in text.splitlines() if line and not line.startswith('#')]
    needs = {}
    for line in (kernel / 'modules.dep').read_text().splitlines():
        file, rest = line.split(':')
        needs[file] = rest.split()
    name_of = lambda file: re.sub(r'\.ko.*', '', os.path.basename(file)).replace('-', '_')
    by_name = {name_of(file): file for file in needs}
    built_in = {name_of(file) for file in (kernel / 'modules.builtin').read_text().split()}
    found = {}

    def add(file):
        for need in reversed(needs[file]):
            add(need)
        found[file] = None

    for name in names:
        if name in by_name:
            add(by_name[name])
        elif name not in built_in:
            raise Trouble(f'the kernel in {kernel} has no module {name}')
    return [kernel / file for file in found]


def unpacked(directory):
    """The kernel's image and the directory of its modules, in what a kernel's package has in it."""
    images, modules = sorted(directory.glob('boot/vmlinuz-*')), sorted(directory.glob('lib/modules/*'))
    if not images or not modules:
        raise Trouble(f'{directory} is no unpacked kernel: it needs boot/vmlinuz-* and lib/modules/*')
    return images[-1], modules[-1]


def kernel(cache, work):
    """Debian's kernel, of which what is needed is kept."""
    if platform.machine() != 'x86_64':
        raise Trouble(f'the guest is a PC and runs this machine\'s programs: {platform.machine()} will not do')
    apt = lambda *arguments: subprocess.run(arguments, capture_output=True, text=True, cwd=work)

    def look():
        depends = apt('apt-cache', 'depends', 'linux-image-amd64').stdout
        name = re.search(r'Depends: (linux-image-\d\S+)', depends)
        where = name and re.search(r"^'\S+' (\S+)\.deb ", apt('apt-get', 'download', '--print-uris', name[1]).stdout, re.M)
        return name and where and (name[1], where[1])

    found = look()
    if not found:
        # A new machine has no lists of packages.
        said = apt('apt-get', 'update').stderr
        found = look()
        if not found:
            raise Trouble(f'apt knows of no linux-image-amd64: {said.strip()}')
    name, version = found
    kept = cache / version
    if not kept.exists():
        print(f'guest.py: downloading {version}', flush=True)
        done = apt('apt-get', 'download', '--quiet=2', '--option', 'APT::Sandbox::User=root', name)
        archives = list(work.glob('linux-image-*.deb'))
        if done.returncode or not archives:
            raise Trouble(f'{name} could not be downloaded: {done.stderr.strip()}')
        whole, part = work / 'package', work / 'kept'
        subprocess.run(['dpkg', '--extract', archives[0], whole], check=True)
        image, modules = unpacked(whole)
        # Programs of administrators are not in every PATH.
        subprocess.run([program('depmod'), '--basedir', whole, modules.name], check=True)
        for path in [image, modules / 'modules.dep', modules / 'modules.builtin', *modules_of(modules)]:
            target = part / path.relative_to(whole)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        shutil.rmtree(whole)
        # At once: one that is stopped in between leaves no half of it.
        part.rename(kept)
    return kept


def machine(qemu, image, archive, disk, shift, memory_mib):
    """Emulated, its time counted in instructions (2^shift ns each, time without work skipped), and with nothing in it that is another one the
    next time but the date: whatever else the host does, the guest sees the same."""
    today = time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime())
    return [
        qemu, '-accel', 'tcg', '-icount', f'shift={shift},sleep=off', '-smp', '1', '-m', str(memory_mib), '-seed', '1',
        '-rtc', f'base={today},clock=vm', '-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none', '-serial', 'stdio',
        '-kernel', image, '-initrd', archive, '-drive', f'file={disk},format=raw,if=virtio,cache=unsafe',
        # The counter is the one clock that costs no exit from the emulator; nothing in here can make it unstable.
        '-append', 'console=ttyS0 quiet panic=-1 nokaslr tsc=reliable clocksource=tsc',
    ]


def die_with_parent():
    """Also if this program is killed so that it cannot clean up."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def run(command, timeout_s):
    """The machine, to its end. Shows what it says."""
    qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=die_with_parent)
    late = threading.Event()
    timer = threading.Timer(timeout_s, lambda: (late.set(), qemu.kill()))
    timer.daemon = True
    try:
        timer.start()
        for line in qemu.stdout:
            print(line.decode(errors='replace').rstrip('\r\n'), flush=True)
        status = qemu.wait()
    finally:
        timer.cancel()
        qemu.kill()
        qemu.wait()
    if late.is_set():
        raise Trouble(f'the guest was not done after {timeout_s:.0f} s; above is what it said')
    if status:
        raise Trouble(f'{command[0]} ended with {status}; above is what it said')


def take_out(disk, output):
    """The files that the guest has put on its disk."""
    try:
        with tarfile.open(disk, 'r:') as archive:
            members = {os.path.basename(member.name): member for member in archive if member.isfile()}
            files = {name: archive.extractfile(member).read() for name, member in members.items()}
            status = int(files['status'])
    except (tarfile.TarError, KeyError, ValueError) as cause:
        raise Trouble(f'the guest has ended without results ({cause!r}); above is what it said') from cause
    output.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        if pathlib.Path(name).suffix in FORMS:
            (output / name).write_bytes(data)
    return status


def judge(status, report):
    """The exit status: a comparison without one of those who are to be compared is none."""
    if not report.is_file() or not report.stat().st_size:
        raise Trouble(f'nothing was played (exit status {status}); above is what was said')
    left_out = json.loads(report.read_text())['left_out']
    for rival in left_out:
        print(f'guest.py: {rival["rival"]} was left out: {rival["why"]}', file=sys.stderr)
    return status or (2 if left_out else 0)


@contextlib.contextmanager
def work_directory(cache):
    """One that goes away, and with it those of runs that were killed."""
    cache.mkdir(parents=True, exist_ok=True)
    for left in cache.glob('work-*'):
        if not pathlib.Path('/proc', left.name.split('-')[1]).exists():
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f'work-{os.getpid()}-', dir=cache) as directory:
        yield pathlib.Path(directory)


def stripped(weir, work):
    """Without what only debuggers want, which is most of it, and would take the guest's memory."""
    target = work / 'weir'
    done = shutil.which('strip') and subprocess.run(['strip', '-o', target, weir], capture_output=True).returncode == 0
    return target if done else weir


def arguments():
    parser = argparse.ArgumentParser(description='Plays a scenario of the lab in a guest whose kernel has LVS.')
    parser.add_argument('--weir', type=pathlib.Path, default=ROOT / 'target/release/weir', help='the program [target/release/weir]')
    parser.add_argument('--scenario', default='lvs', help='a file, or the name of one that comes with Weir [lvs]')
    parser.add_argument('--full', action='store_true', help='not its quick form')
    parser.add_argument('--output', type=pathlib.Path, default=ROOT / 'target/lvs', help='where results go [target/lvs]')
    parser.add_argument('--cache', type=pathlib.Path, default=ROOT / 'target/lvs', help='where the kernel is kept [target/lvs]')
    parser.add_argument('--with', dest='more', action='append', default=[], metavar='PROGRAM', help='a program that the scenario needs besides')
    parser.add_argument('--kernel', type=pathlib.Path, help='an unpacked kernel package [that of Debian\'s linux-image-amd64]')
    parser.add_argument('--qemu', default='qemu-system-x86_64', help='the emulator [qemu-system-x86_64]')
    parser.add_argument('--shift', type=int, default=0, choices=range(11), help='an instruction takes 2^SHIFT ns [0]', metavar='SHIFT')
    parser.add_argument('--memory', type=int, default=2048, help='of the guest, in MiB [2048]')
    parser.add_argument('--timeout', type=float, default=3600, help='seconds after which the guest is stuck [3600]')
    options = parser.parse_args()
    is_file = options.scenario.endswith('.toml') or '/' in options.scenario
    options.file = pathlib.Path(options.scenario) if is_file else None
    if not options.weir.is_file():
        raise Trouble(f'there is no {options.weir}: `make release` builds it')
    if options.file and not options.file.is_file():
        raise Trouble(f'there is no scenario {options.file}')
    return options


def main():
    options = arguments()
    name = options.file.stem if options.file else options.scenario
    results = name if options.full else f'{name}-quick'
    scenario = shlex.quote(options.file.name if options.file else options.scenario)
    quick = '' if options.full else ' --quick'
    kept = shlex.quote(results)
    play = f'weir lab run {scenario}{quick} --output {kept}.sqlite --html {kept}.html --markdown {kept}.md --csv {kept}.csv\n' \
        f'status=$?\nweir lab report {kept}.sqlite --json >{kept}.json\nexit $status\n'
    qemu = program(options.qemu)
    programs = {name.rpartition('/')[2]: program(name) for name in [*PROGRAMS, *options.more]}
    with work_directory(options.cache.resolve()) as work:
        image, modules = unpacked(options.kernel or kernel(options.cache.resolve(), work))
        with open(work / 'initrd', 'wb') as out:
            pack(Archive(out), stripped(options.weir, work), programs, modules_of(modules), play, options.file)
        with open(work / 'disk', 'wb') as disk:
            disk.truncate(DISK_BYTES)
        print(f'guest.py: booting {image.name}', flush=True)
        run(machine(qemu, image, work / 'initrd', work / 'disk', options.shift, options.memory), options.timeout)
        status = take_out(work / 'disk', options.output)
    status = judge(status, options.output / f'{results}.json')
    print(f'guest.py: results are in {options.output}/{results}.*', flush=True)
    return status


if __name__ == '__main__':
    for number in [signal.SIGTERM, signal.SIGHUP]:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    # A shell without job control lets what it starts in the background ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.exit(main())
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(128 + signal.SIGINT)
    except (Trouble, OSError, subprocess.CalledProcessError) as trouble:
        print(f'guest.py: {trouble}', file=sys.stderr)
        sys.exit(2)
