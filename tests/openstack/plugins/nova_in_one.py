"""All of Nova in one process: with its parts in one place, messages between them need no broker (transport fake:/)."""
import os
import shlex
import sys

os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'
from nova import monkey_patch

monkey_patch.patch(backend='threading')  # before anything else of Nova is imported

import os_brick
import os_vif
from oslo_log import log
from oslo_privsep import priv_context
from oslo_service import opts as service_opts
from paste import deploy

import booked
import nova.conf
from nova import config, context, objects, service, utils
from nova.api.openstack import wsgi_app
from nova.compute import rpcapi as compute
from nova.conductor import rpcapi as conductor
from nova.objects import host_mapping
from nova.scheduler import rpcapi as scheduler

sys.modules['nova.virt.booked'] = booked  # drivers are looked for below nova.virt only

config.parse_args(['nova', '--config-file', os.environ['NOVA_CONFIG']])
log.setup(nova.conf.CONF, 'nova')
service_opts.register_service_opts(nova.conf.CONF)
objects.register_all()
priv_context.init(root_helper=shlex.split(utils.get_root_helper()))
os_brick.setup(nova.conf.CONF)
os_vif.initialize()

parts = [dict(binary='nova-conductor', topic=conductor.RPC_TOPIC), dict(binary='nova-scheduler', topic=scheduler.RPC_TOPIC)]
parts += [dict(binary='nova-compute', host='host%d' % n, topic=compute.RPC_TOPIC, topic_alt=compute.RPC_TOPIC_ALT)
          for n in range(int(os.environ['NOVA_HOSTS']))]
parts = [service.Service.create(**part) for part in parts]
for part in parts:
    part.start()
host_mapping.discover_hosts(context.get_admin_context())
wsgi_app._setup_service(nova.conf.CONF.host, 'osapi_compute')
application = deploy.loadapp('config:' + os.environ['NOVA_PASTE'], name='osapi_compute')
