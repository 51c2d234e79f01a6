#!/usr/bin/env python3
"""Starts and stops an OpenStack control plane for tests; see README.md beside this file.

usage: control_plane.py up|down DIRECTORY
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
HOSTS = 3
REGION = 'North'
APIS = {  # name: (WSGI application, threads)
    'keystone': ('keystone.wsgi.api:application', 8),
    'brief': ('keystone.wsgi.api:application', 4),
    'placement': ('placement.wsgi.api:application', 8),
    'glance': ('glance.wsgi.api:application', 4),
    'neutron': ('neutron.wsgi.api:application', 12),
    'nova': ('nova_in_one:application', 16),
}
# What of an API's environment is its own: a second Keystone with the keys of the first one gives tokens that end soon.
OWN = {'brief': {'OS_KEYSTONE_CONFIG_FILES': 'keystone-brief.conf'}}
TOKEN_S, BRIEF_TOKEN_S = 86400, 30
DATABASES = ['keystone', 'placement', 'glance', 'neutron', 'nova_api', 'nova_cell0', 'nova_cell1']


class ControlPlane:
    def __init__(self, directory):
        self.dir = pathlib.Path(directory).resolve()
        if any(c.isspace() for c in str(self.dir)):
            sys.exit('%s: a path with spaces does not work' % self.dir)
        self.bin, self.etc, self.log, self.run = (self.dir / n for n in ('venv/bin', 'etc', 'log', 'run'))
        self.ports_file, self.built = self.dir / 'ports.json', self.dir / 'built'
        self.ports = {}

    # What the rest is made of.

    def url(self, name):
        return 'http://127.0.0.1:%d' % self.ports[name]

    def python(self, *arguments, **env):
        command = [str(self.bin / 'python'), *map(str, arguments)]
        subprocess.run(command, check=True, env=self.environment(**env))

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith('OS_')}
        env.update(PYTHONPATH=str(self.dir / 'plugins'), PYTHONWARNINGS='ignore', PYTHONDONTWRITEBYTECODE='1',
                   OS_KEYSTONE_CONFIG_FILES=str(self.etc / 'keystone.conf'), OS_PLACEMENT_CONFIG_DIR=str(self.etc),
                   OS_GLANCE_CONFIG_FILES=str(self.etc / 'glance-api.conf'), OS_GLANCE_CONFIG_DIR=str(self.etc),
                   OS_NEUTRON_CONFIG_FILES=str(self.etc / 'neutron.conf'), OS_NEUTRON_CONFIG_DIR=str(self.etc), NOVA_CONFIG=str(self.etc / 'nova.conf'),
                   NOVA_PASTE=str(self.etc / 'api-paste.ini'), NOVA_HOSTS=str(HOSTS),
                   OS_NOVA_DISABLE_EVENTLET_PATCHING='true', PATH=os.environ['PATH'] + ':/usr/sbin:/sbin')
        env.update(more)
        return env

    def start(self, name, command, cwd, **env):
        """As a session of its own, so that nothing of a terminal reaches it; known by its pid afterwards."""
        if self.pid(name):
            return
        with open(self.log / (name + '.log'), 'ab') as log:
            child = subprocess.Popen(list(map(str, command)), cwd=cwd, env=self.environment(**env), start_new_session=True,
                                     stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        (self.run / name).write_text('%d' % child.pid)

    def pid(self, name):
        try:
            pid = int((self.run / name).read_text())
            os.kill(pid, 0)
            # A pid file may be older than this boot, and the number another process's.
            return pid if os.readlink('/proc/%d/cwd' % pid).startswith(str(self.dir)) else None
        except (OSError, ValueError):
            return None

    def stop(self, names):
        pids = {name: pid for name in names if (pid := self.pid(name))}
        for pid in pids.values():
            os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + 20
        for name, pid in pids.items():
            while self.pid(name) and not is_zombie(pid):
                if time.monotonic() > end:
                    os.killpg(pid, signal.SIGKILL)
                time.sleep(.1)
            (self.run / name).unlink()

    def await_answer(self, names):
        for name in names:
            end = time.monotonic() + 180
            while True:
                try:
                    urllib.request.urlopen(self.url(name) + '/', timeout=5)
                    break
                except urllib.error.HTTPError:
                    break
                except OSError:
                    pid = self.pid(name)
                    if not pid or is_zombie(pid) or time.monotonic() > end:
                        log = (self.log / (name + '.log')).read_text(errors='replace')
                        sys.exit('%s does not come up:\n%s' % (name, '\n'.join(log.splitlines()[-20:])))
                    time.sleep(.2)

    # The parts.

    def install(self):
        stamp = self.dir / 'venv' / 'installed'
        wanted = (HERE / 'requirements.txt').read_text()
        if stamp.exists() and stamp.read_text() == wanted:
            return
        subprocess.run([sys.executable, '-m', 'venv', str(self.dir / 'venv')], check=True)
        print('installing Python packages', flush=True)
        self.python('-m', 'pip', 'install', '--quiet', '--requirement', HERE / 'requirements.txt')
        stamp.write_text(wanted)

    def choose_ports(self):
        if not self.ports_file.exists() or set(json.loads(self.ports_file.read_text())) != {*APIS, 'db'}:
            self.built.unlink(missing_ok=True)
            # Held together, so that no two are the same; below the range of which clients get theirs.
            held = {}
            candidates = iter(range(21000, 29000))
            for name in [*APIS, 'db']:
                for port in candidates:
                    s = socket.socket()
                    try:
                        s.bind(('127.0.0.1', port))
                        held[name] = s
                        break
                    except OSError:
                        s.close()
            self.ports_file.write_text(json.dumps({name: s.getsockname()[1] for name, s in held.items()}))
            for s in held.values():
                s.close()
        self.ports = json.loads(self.ports_file.read_text())

    def copy_plugins(self):
        plugins = self.dir / 'plugins'
        shutil.rmtree(plugins, ignore_errors=True)
        shutil.copytree(HERE / 'plugins', plugins)
        # Neutron finds mechanism drivers by entry points, so this directory must look like an installed package.
        about = plugins / 'weir_bound-1.dist-info'
        about.mkdir()
        (about / 'METADATA').write_text('Metadata-Version: 2.1\nName: weir-bound\nVersion: 1\n')
        (about / 'entry_points.txt').write_text('[neutron.ml2.mechanism_drivers]\nbound = bound:Bound\n')

    def start_database(self):
        # Durability would cost minutes and is of no use here.
        self.start('db', ['mariadbd', '--no-defaults', '--user=' + owner(), '--datadir=%s' % (self.dir / 'db'),
                          '--socket=socket', '--pid-file=pid', '--bind-address=127.0.0.1', '--port=%d' % self.ports['db'],
                          '--skip-name-resolve', '--max-connections=1000', '--performance-schema=OFF', '--skip-log-bin',
                          '--innodb-flush-log-at-trx-commit=0', '--innodb-doublewrite=0', '--innodb-flush-method=nosync',
                          '--innodb-buffer-pool-size=64M', '--innodb-log-file-size=16M', '--innodb-fast-shutdown=1',
                          '--character-set-server=utf8mb4'], self.dir)
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(('127.0.0.1', self.ports['db']), timeout=5).close()
                return
            except OSError:
                if time.monotonic() > end:
                    sys.exit('mariadbd does not come up: see %s' % (self.log / 'db.log'))
                time.sleep(.1)

    def start_api(self, name):
        application, threads = APIS[name]
        # The services read sys.argv: gunicorn gets everything from its configuration file, in the working directory.
        own = {variable: str(self.etc / file) for variable, file in OWN.get(name, {}).items()}
        self.start(name, [self.bin / 'python', self.bin / 'gunicorn'], self.dir / 'plugins',
                   WEIR_APPLICATION=application, WEIR_PORT=str(self.ports[name]), WEIR_THREADS=str(threads), **own)

    def build(self):
        # Nobody takes what is left of a build that fails for one that was finished.
        self.built.unlink(missing_ok=True)
        for name in ('etc', 'nova', 'images', 'fernet', 'credential', 'lock'):
            shutil.rmtree(self.dir / name, ignore_errors=True)
            (self.dir / name).mkdir(mode=0o700)
        shutil.rmtree(self.dir / 'db', ignore_errors=True)
        configure(self)
        print('building databases', flush=True)
        subprocess.run(['mariadb-install-db', '--no-defaults', '--user=' + owner(), '--datadir=%s' % (self.dir / 'db'),
                        '--auth-root-authentication-method=normal', '--skip-test-db', '--innodb-log-file-size=16M'],
                       check=True, env=self.environment(), stdout=subprocess.DEVNULL)
        self.start_database()
        self.python('-c', 'import pymysql\ncursor = pymysql.connect(host="127.0.0.1", port=%d, user="root").cursor()\n'
                    'for name in %r: cursor.execute("create database %%s character set utf8mb4" %% name)'
                    % (self.ports['db'], DATABASES))
        self.build_schemas()
        for name in APIS:
            if name != 'nova':
                self.start_api(name)
        self.await_answer(['keystone', 'placement'])
        self.python(HERE / 'seed.py', 'catalogue', self.dir, REGION, json.dumps({n: self.url(n) for n in APIS}))
        self.start_api('nova')
        self.await_answer(APIS)
        self.python(HERE / 'seed.py', 'resources', self.dir)
        self.built.write_text(made_of())

    def build_schemas(self):
        """Each service's own tool makes its tables; all of them at the same time."""
        e, b = self.etc, self.bin
        keystone = '%s/keystone-manage --config-file %s/keystone.conf ' % (b, e)
        nova = '%s/nova-manage --config-file %s/nova.conf ' % (b, e)
        identity = '--keystone-user %s --keystone-group %s' % (owner(), group())
        # Neutron's migrations are hundreds and take minutes: its tables are made as the models say, and stamped.
        models = ('from neutron.db.migration.models import head; import sqlalchemy; '
                  'head.get_metadata().create_all(sqlalchemy.create_engine("%s"))' % connection(self, 'neutron'))
        (e / 'neutron_tables.py').write_text(models + '\n')
        jobs = {
            'keystone': [keystone + 'db_sync', keystone + 'fernet_setup ' + identity, keystone + 'credential_setup ' + identity,
                         keystone + 'bootstrap --bootstrap-password admin --bootstrap-region-id %s' % REGION
                         + ''.join(' --bootstrap-%s-url %s/v3' % (i, self.url('keystone')) for i in ('admin', 'internal', 'public'))],
            'placement': ['%s/placement-manage --config-file %s/placement.conf db sync' % (b, e)],
            'glance': ['%s/glance-manage --config-file %s/glance-api.conf db_sync' % (b, e)],
            'neutron': ['%s/python %s/neutron_tables.py' % (b, e),
                        '%s/neutron-db-manage --config-file %s/neutron.conf stamp heads' % (b, e)],
            'nova': [nova + 'api_db sync', nova + 'cell_v2 map_cell0 --database_connection ' + connection(self, 'nova_cell0'),
                     nova + 'db sync', nova + 'cell_v2 create_cell --name cell1'],
        }
        running = {}
        for name, commands in jobs.items():
            with open(self.log / ('build-%s.log' % name), 'wb') as log:
                running[name] = subprocess.Popen(['sh', '-ec', '\n'.join(commands)], env=self.environment(), stdout=log, stderr=log)
        failed = [name for name, job in running.items() if job.wait()]
        for name in failed:
            print('\n'.join((self.log / ('build-%s.log' % name)).read_text(errors='replace').splitlines()[-8:]))
        if failed:
            sys.exit('no tables for %s: see %s' % (', '.join(failed), self.log))

    def up(self):
        for program in ('mariadbd', 'mariadb-install-db'):
            if not shutil.which(program, path=os.environ['PATH'] + ':/usr/sbin:/sbin'):
                sys.exit('%s is not there: scripts/setup openstack' % program)
        began = time.monotonic()
        for directory in (self.dir, self.log, self.run):
            directory.mkdir(parents=True, exist_ok=True)
        self.install()
        self.choose_ports()
        self.copy_plugins()
        if self.built.exists() and self.built.read_text() == made_of():
            self.start_database()
            for name in APIS:
                self.start_api(name)
        else:
            self.stop([*APIS, 'db'])
            self.build()
        self.await_answer(APIS)
        self.python(HERE / 'seed.py', 'ready', self.dir, str(HOSTS))
        print('up after %.0f s' % (time.monotonic() - began))

    def down(self):
        self.stop(APIS)
        self.stop(['db'])


def configure(plane):
    """The configuration of every service, and no more of it than differs from what they do by themselves."""
    d, u = plane.dir, plane.url
    login = ('auth_type = password\nauth_url = %s/v3\nusername = admin\npassword = admin\nproject_name = admin\n'
             'user_domain_id = default\nproject_domain_id = default\nregion_name = %s\n' % (u('keystone'), REGION))
    # A token that was revoked is refused after this long; asking Keystone about every request takes a core. (What ends with this gets
    # the type of its service: without it no token of a credential with access rules is taken.)
    token = ('[keystone_authtoken]\n%swww_authenticate_uri = %s/v3\nservice_token_roles_required = true\ntoken_cache_time = 20\n'
             % (login, u('keystone')))

    def database(section, name):
        return '[%s]\nconnection = %s\n' % (section, connection(plane, name))

    keystone = ('[DEFAULT]\nuse_stderr = true\n' + database('database', 'keystone')
                + '[fernet_tokens]\nkey_repository = %s/fernet\n[credential]\nkey_repository = %s/credential\n' % (d, d)
                + '[identity]\npassword_hash_rounds = 4\n[token]\nexpiration = %d\n')
    files = {
        'keystone.conf': keystone % TOKEN_S,
        'keystone-brief.conf': keystone % BRIEF_TOKEN_S,
        'placement.conf': '[api]\nauth_strategy = keystone\n' + database('placement_database', 'placement') + token,
        'glance-api.conf': '[DEFAULT]\nenabled_backends = file:file\nworker_self_reference_url = %s\n' % u('glance')
            + database('database', 'glance') + '[glance_store]\ndefault_backend = file\n'
            + '[file]\nfilesystem_store_datadir = %s/images\n[os_glance_staging_store]\n' % d
            + 'filesystem_store_datadir = %s/staging\n[paste_deploy]\nflavor = keystone\n' % d
            + 'config_file = %s/venv/etc/glance/glance-api-paste.ini\n[oslo_concurrency]\nlock_path = %s/lock\n' % (d, d) + token
            + 'service_type = image\n',
        'neutron.conf': '[DEFAULT]\ncore_plugin = ml2\nservice_plugins =\nauth_strategy = keystone\ntransport_url = fake:/\n'
            + 'api_paste_config = %s/venv/etc/neutron/api-paste.ini\nstate_path = %s\n' % (d, d)
            + 'notify_nova_on_port_status_changes = false\nnotify_nova_on_port_data_changes = false\napi_workers = 1\n'
            + 'rpc_workers = 0\n' + database('database', 'neutron') + '[quotas]\nquota_port = -1\n'
            + '[oslo_concurrency]\nlock_path = %s/lock\n[ml2]\ntype_drivers = local\ntenant_network_types = local\n' % d
            + 'mechanism_drivers = bound\nextension_drivers =\n' + token + 'service_type = network\n',
        'nova.conf': '[DEFAULT]\nhost = control\nmy_ip = 127.0.0.1\ncompute_driver = booked.Driver\ntransport_url = fake:/\n'
            + 'state_path = %s/nova\nlog_dir =\nuse_stderr = true\nreclaim_instance_interval = 0\n' % d
            + 'rpc_response_timeout = 60\nservice_down_time = 60\nmax_concurrent_builds = 0\n'
            + '[wsgi]\napi_paste_config = %s/api-paste.ini\n' % plane.etc
            + database('database', 'nova_cell1') + database('api_database', 'nova_api')
            + '[oslo_concurrency]\nlock_path = %s/lock\n[filter_scheduler]\n' % d
            + 'enabled_filters = ComputeFilter,ServerGroupAntiAffinityFilter,ServerGroupAffinityFilter\n'
            + 'shuffle_best_same_weighed_hosts = true\n[quota]\ninstances = -1\ncores = -1\nram = -1\n'
            + 'server_group_members = -1\nserver_groups = -1\n'
            # Nova shows Neutron a token of its own when it deletes ports.
            + '[service_user]\nsend_service_user_token = true\n' + login
            + ''.join('[%s]\n%s' % (other, login) for other in ('placement', 'neutron', 'glance', 'cinder')) + token
            + 'service_type = compute\n',
    }
    for name, text in files.items():
        (plane.etc / name).write_text(text)
    shutil.copy(d / 'venv/etc/nova/api-paste.ini', plane.etc)


def made_of():
    """What a control plane was built of: one that was built of something else is built anew."""
    return ''.join((HERE / name).read_text() for name in ('control_plane.py', 'seed.py', 'requirements.txt'))


def connection(plane, database):
    return 'mysql+pymysql://root@127.0.0.1:%d/%s?charset=utf8mb4' % (plane.ports['db'], database)


def is_zombie(pid):
    try:
        return pathlib.Path('/proc/%d/stat' % pid).read_text().rpartition(') ')[2].startswith('Z')
    except OSError:
        return True


def owner():
    return subprocess.run(['id', '-un'], capture_output=True, text=True, check=True).stdout.strip()


def group():
    return subprocess.run(['id', '-gn'], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == '__main__':
    if len(sys.argv) != 3 or sys.argv[1] not in ('up', 'down'):
        sys.exit(__doc__.strip().splitlines()[-1])
    getattr(ControlPlane(sys.argv[2]), sys.argv[1])()
