#!/usr/bin/env python3
"""Builds and runs a Kubernetes control plane for tests; see README.md beside this file.

usage: control_plane.py build DIRECTORY
       control_plane.py run DIRECTORY COMMAND [ARGUMENT...]
"""
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
GUIDE = HERE.parent.parent / 'docs/guide/fleets.md'
KUBERNETES, KWOK = 'v1.36.3', 'v0.8.0'
PROGRAMS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl']
# What pods get; kwok's own addresses are out of the way.
PODS = '10.244.0.0/16'
API, ETCD = 'https://127.0.0.1:6443', 'http://127.0.0.1:2379'
CONTROLLERS = ['deployment-controller', 'replicaset-controller', 'statefulset-controller', 'endpointslice-controller',
               'garbage-collector-controller', 'namespace-controller', 'disruption-controller', 'resourcequota-controller',
               'serviceaccount-controller', 'node-lifecycle-controller']


def run(*command, **options):
    subprocess.run(list(map(str, command)), check=True, **options)


def build(directory):
    """Once: from the modules that the Go proxy has. About 11 CPU minutes."""
    binaries, stages, source = directory / 'bin', directory / 'stages', directory / 'source'
    stamp, wanted = directory / 'built', '%s %s\n' % (KUBERNETES, KWOK)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if not shutil.which('go'):
        sys.exit('control_plane.py: go is not in PATH: install Go (https://go.dev/dl), as new as Kubernetes %s wants' % KUBERNETES)
    stages.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, 'CGO_ENABLED': '0', 'GOWORK': 'off'}
    env.pop('GOFLAGS', None)
    module = lambda name: pathlib.Path(json.loads(subprocess.check_output(
        ['go', 'mod', 'download', '-json', name], cwd=directory, env=env))['Dir'])
    print('building kwok and Kubernetes: takes minutes', flush=True)
    run('go', 'install', '-ldflags', '-s -w', 'sigs.k8s.io/kwok/cmd/kwok@' + KWOK, env={**env, 'GOBIN': str(binaries)})
    # kwok does nothing without stages.
    kwok = module('sigs.k8s.io/kwok@' + KWOK) / 'kustomize/stage'
    for stage in ['node/fast/node-initialize', 'node/heartbeat-with-lease/node-heartbeat-with-lease',
                  'pod/fast/pod-ready', 'pod/fast/pod-complete', 'pod/fast/pod-delete']:
        (stages / (stage.rsplit('/', 1)[1] + '.yaml')).write_bytes((kwok / (stage + '.yaml')).read_bytes())
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(module('k8s.io/kubernetes@' + KUBERNETES), source)
    for path in [source, *source.rglob('*')]:
        path.chmod(path.stat().st_mode | 0o200)
    # Modules that the sources bring along ("staging") are published under a version of their own.
    for name in ['go.work', 'go.work.sum']:
        (source / name).unlink(missing_ok=True)
    shutil.rmtree(source / 'vendor', ignore_errors=True)
    mod = json.loads(subprocess.check_output(['go', 'mod', 'edit', '-json'], cwd=source, env=env))
    staged = {r['Old']['Path'] for r in mod.get('Replace') or [] if r['New']['Path'].startswith('./staging')}
    drop = ['-dropreplace=' + name for name in sorted(staged)]
    staged |= {r['Path'] for r in mod['Require'] if r['Version'] == 'v0.0.0'}
    version = 'v0.' + KUBERNETES.removeprefix('v1.')
    run('go', 'mod', 'edit', *drop, *('-replace=%s=%s@%s' % (name, name, version) for name in sorted(staged)), cwd=source, env=env)
    of = 'k8s.io/component-base/version'
    minor = KUBERNETES.split('.')[1]
    flags = '-s -w -X %s.gitVersion=%s -X %s.gitMajor=1 -X %s.gitMinor=%s' % (of, KUBERNETES, of, of, minor)
    run('go', 'build', '-mod=mod', '-buildvcs=false', '-ldflags', flags, '-o', str(binaries) + '/', *('./cmd/' + p for p in PROGRAMS),
        cwd=source, env=env)
    shutil.rmtree(source)
    stamp.write_text(wanted)


class ControlPlane:
    """Lives in namespaces of its own: its ports are nobody else's, and whatever it starts ends with it."""

    def __init__(self, directory):
        self.dir, self.bin = directory, directory / 'bin'
        self.state = directory / 'state'
        self.pki, self.log = self.state / 'pki', self.state / 'log'
        self.children = {}

    def start(self, name, *command):
        with open(self.log / (name + '.log'), 'ab') as log:
            self.children[name] = subprocess.Popen(list(map(str, command)), cwd=self.state, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def await_answer(self, name, url):
        headers = {'Authorization': 'Bearer admin-token'}
        context = ssl._create_unverified_context()
        end = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=2, context=context if url.startswith('https') else None)
                return
            except OSError:
                if self.children[name].poll() is not None or time.monotonic() > end:
                    said = (self.log / (name + '.log')).read_text(errors='replace').splitlines()
                    sys.exit('%s does not come up:\n%s' % (name, '\n'.join(said[-20:])))
                time.sleep(.1)

    def kubectl(self, *arguments, text=None):
        run(self.bin / 'kubectl', '--kubeconfig', self.state / 'admin.kubeconfig', *arguments, input=text, text=True, stdout=subprocess.DEVNULL)

    def kubeconfig(self, name, user):
        cluster = {'server': API, 'certificate-authority': str(self.pki / 'apiserver.crt')}
        config = {'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'test',
                  'clusters': [{'name': 'test', 'cluster': cluster}], 'users': [{'name': name, 'user': user}],
                  'contexts': [{'name': 'test', 'context': {'cluster': 'test', 'user': name}}]}
        (self.state / (name + '.kubeconfig')).write_text(json.dumps(config))

    def certify(self):
        """Keys of service accounts, and an authority that says who has the client certificate of weir."""
        pki = self.pki
        silent = {'stderr': subprocess.DEVNULL, 'stdout': subprocess.DEVNULL, 'cwd': pki}
        run('openssl', 'genrsa', '-out', 'sa.key', 2048, **silent)
        run('openssl', 'rsa', '-in', 'sa.key', '-pubout', '-out', 'sa.pub', **silent)
        ecdsa = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
        run('openssl', 'req', '-x509', *ecdsa, '-keyout', 'clients.key', '-out', 'clients.crt', '-subj', '/CN=clients', '-days', 2, **silent)
        run('openssl', 'req', *ecdsa, '-keyout', 'weir.key', '-out', 'weir.csr', '-subj', '/CN=weir', **silent)
        # Without an extension it would be a certificate of version 1, which nobody takes any more.
        (pki / 'weir.ext').write_text('extendedKeyUsage = clientAuth\n')
        run('openssl', 'x509', '-req', '-in', 'weir.csr', '-extfile', 'weir.ext', '-CA', 'clients.crt', '-CAkey', 'clients.key', '-CAcreateserial',
            '-out', 'weir.crt', '-days', 2, **silent)
        (pki / 'tokens.csv').write_text('admin-token,admin,admin,system:masters\nnobody-token,nobody,nobody\n')

    def start_api(self):
        pki = self.pki
        self.start('kube-apiserver', self.bin / 'kube-apiserver', '--etcd-servers=' + ETCD, '--bind-address=127.0.0.1',
                   '--advertise-address=127.0.0.1', '--secure-port=6443', '--cert-dir=%s' % pki, '--client-ca-file=%s' % (pki / 'clients.crt'),
                   '--token-auth-file=%s' % (pki / 'tokens.csv'), '--authorization-mode=RBAC', '--anonymous-auth=false',
                   '--service-cluster-ip-range=10.96.0.0/16', '--service-account-issuer=https://kubernetes.default.svc',
                   '--service-account-key-file=%s' % (pki / 'sa.pub'), '--service-account-signing-key-file=%s' % (pki / 'sa.key'),
                   '--disable-admission-plugins=ServiceAccount', '--endpoint-reconciler-type=none',
                   # Otherwise watches as kwok has them are refused with an etcd older than 3.4.31, as Debian's is: kwok then knows only what
                   # it lists, after pauses that grow to a minute.
                   '--feature-gates=WatchList=false')
        self.await_answer('kube-apiserver', API + '/readyz')
        self.check_watches()

    def check_watches(self):
        """A watch that begins with what there is, as kwok's do."""
        url = API + '/api/v1/namespaces?watch=true&resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=1'
        request = urllib.request.Request(url, headers={'Authorization': 'Bearer admin-token'})
        with urllib.request.urlopen(request, timeout=30, context=ssl._create_unverified_context()) as answer:
            events = [json.loads(line) for line in answer if line.strip()]
        refused = [event['object'].get('message') for event in events if event['type'] == 'ERROR']
        if refused:
            sys.exit('kube-apiserver refuses watches: %s' % refused[0])

    def up(self):
        shutil.rmtree(self.state, ignore_errors=True)
        for directory in [self.pki, self.log]:
            directory.mkdir(parents=True)
        run('ip', 'link', 'set', 'lo', 'up')
        # The addresses of pods are this machine's: tests put real servers there.
        run('ip', 'route', 'add', 'local', PODS, 'dev', 'lo')
        self.certify()
        self.start('etcd', 'etcd', '--data-dir', self.state / 'etcd', '--listen-client-urls', ETCD, '--advertise-client-urls', ETCD,
                   '--listen-peer-urls', 'http://127.0.0.1:2380', '--initial-advertise-peer-urls', 'http://127.0.0.1:2380',
                   '--initial-cluster', 'default=http://127.0.0.1:2380')
        self.await_answer('etcd', ETCD + '/health')
        self.start_api()
        self.kubeconfig('admin', {'token': 'admin-token'})
        self.kubeconfig('nobody', {'token': 'nobody-token'})
        self.kubeconfig('weir', {'client-certificate': str(self.pki / 'weir.crt'), 'client-key': str(self.pki / 'weir.key')})
        admin = '--kubeconfig=%s' % (self.state / 'admin.kubeconfig')
        self.start('kube-controller-manager', self.bin / 'kube-controller-manager', admin, '--leader-elect=false', '--secure-port=0',
                   '--service-account-private-key-file=%s' % (self.pki / 'sa.key'), '--controllers=' + ','.join(CONTROLLERS))
        self.start('kube-scheduler', self.bin / 'kube-scheduler', admin, '--leader-elect=false', '--secure-port=0')
        stages = sorted((self.dir / 'stages').glob('*.yaml'))
        self.start('kwok', self.bin / 'kwok', admin, *('--config=%s' % stage for stage in stages), '--manage-all-nodes=true',
                   '--cidr=10.244.0.1/16', '--node-lease-duration-seconds=40')
        self.seed()

    def seed(self):
        size = {'cpu': '32', 'memory': '256Gi', 'pods': '110'}
        for at in range(2):
            node = {'apiVersion': 'v1', 'kind': 'Node', 'status': {'allocatable': size, 'capacity': size},
                    'metadata': {'name': 'fake-%d' % at, 'labels': {'topology.kubernetes.io/zone': 'zone-%d' % at},
                                 'annotations': {'kwok.x-k8s.io/node': 'fake'}}}
            self.kubectl('apply', '-f', '-', text=json.dumps(node))
        # The Role that the guide gives: what it permits is to be enough.
        role = re.search(r'```yaml\n(kind: Role\n.*?)```', GUIDE.read_text(), re.S)
        self.kubectl('apply', '-f', '-', text=role[1])
        self.kubectl('create', 'serviceaccount', 'weir')
        self.kubectl('create', 'rolebinding', 'weir', '--role=weir', '--user=weir', '--serviceaccount=default:weir')

    def down(self):
        for child in reversed(self.children.values()):
            child.terminate()
        for child in self.children.values():
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ('build', 'run', 'inside'):
        sys.exit(__doc__)
    verb, directory, command = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    if verb == 'build':
        return build(directory)
    if verb == 'run':
        apart = ['unshare', '--map-root-user', '--net', '--pid', '--fork', '--kill-child', '--mount-proc']
        os.execvp(apart[0], [*apart, sys.executable, os.path.abspath(__file__), 'inside', str(directory), *command])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    plane = ControlPlane(directory)
    try:
        plane.up()
        os.environ.update(WEIR_KUBERNETES=str(plane.state), PATH='%s:%s' % (plane.bin, os.environ['PATH']))
        sys.exit(subprocess.run(command).returncode)
    finally:
        plane.down()


main()
