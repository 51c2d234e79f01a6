"""What the tests find in a new control plane. Called by control_plane.py.

usage: seed.py catalogue DIRECTORY REGION URLS-AS-JSON | resources DIRECTORY | ready DIRECTORY HOSTS
"""
import json
import os
import pathlib
import sys
import time

import openstack
import yaml


def catalogue(directory, region, urls):
    """Services with their addresses; projects with users; clouds.yaml."""
    urls = json.loads(urls)
    auth_url = urls['keystone'] + '/v3'

    def password(name):
        return {'auth_url': auth_url, 'username': name, 'password': name, 'project_name': name, 'user_domain_id': 'default',
                'project_domain_id': 'default'}

    def cloud(auth, **more):
        return dict(auth=auth, region_name=region, identity_api_version='3', **more)

    def with_credential(credential):
        return cloud({'auth_url': auth_url, 'application_credential_id': credential.id,
                      'application_credential_secret': credential.secret}, auth_type='v3applicationcredential')

    identity = openstack.connect(**cloud(password('admin'))).identity
    services = {'placement': urls['placement'], 'image': urls['glance'], 'network': urls['neutron'],
                'compute': urls['nova'] + '/v2.1'}
    for kind, url in services.items():
        service = identity.create_service(name=kind, type=kind)
        for interface in ('public', 'internal'):
            identity.create_endpoint(service_id=service.id, interface=interface, url=url, region_id=region)
    # Nova acts for others with the role "service".
    identity.assign_project_role_to_user(identity.find_project('admin'), identity.find_user('admin'), identity.find_role('service'))
    member = identity.find_role('member')
    for name in ('fleet', 'small'):
        project = identity.create_project(name=name, domain_id='default')
        user = identity.create_user(name=name, password=name, domain_id='default', default_project_id=project.id)
        identity.assign_project_role_to_user(project, user, member)
    # One that may look at everything of the fleet's project, and change nothing.
    reader = identity.create_user(name='reader', password='reader', domain_id='default')
    identity.assign_project_role_to_user(identity.find_project('fleet'), reader, identity.find_role('reader'))
    mine = openstack.connect(**cloud(password('fleet'))).identity
    credential = mine.create_application_credential(user_id(mine), 'fleet')
    # Looks at everything, makes servers, stops and starts them, and deletes none.
    rules = [('GET', kind, '/**') for kind in ('compute', 'image', 'network')]
    rules += [('POST', 'compute', path) for path in ('/v2.1/servers', '/v2.1/servers/*/action')]
    keeper = mine.create_application_credential(
        user_id(mine), 'keeper', access_rules=[{'method': method, 'service': kind, 'path': path} for method, kind, path in rules])
    clouds = {
        'admin': cloud(password('admin')),
        'brief': cloud({**password('fleet'), 'auth_url': urls['brief'] + '/v3'}),
        'small': cloud(password('small')),
        'reader': cloud({**password('reader'), 'project_name': 'fleet'}),
        'fleet': with_credential(credential),
        'keeper': with_credential(keeper),
    }
    path = pathlib.Path(directory, 'clouds.yaml')
    path.write_text(yaml.safe_dump({'clouds': clouds}))
    path.chmod(0o600)


def user_id(identity):
    """A member may not search for users, but knows itself."""
    return identity.session.get_user_id()


def connect(directory, name):
    os.environ['OS_CLIENT_CONFIG_FILE'] = str(pathlib.Path(directory, 'clouds.yaml'))
    return openstack.connect(cloud=name, compute_api_version='2.90')


def resources(directory):
    admin, fleet = connect(directory, 'admin'), connect(directory, 'fleet')
    for name, vcpus, ram in (('small', 1, 512), ('large', 4, 8192)):
        admin.compute.create_flavor(name=name, vcpus=vcpus, ram=ram, disk=1)
    admin.image.create_image(name='img', disk_format='raw', container_format='bare', visibility='public', data=b'x' * 1024,
                             validate_checksum=False, wait=False)
    network = admin.network.create_network(name='net', is_shared=True)
    # Every address of 127/8 is this machine's: a test can start a server at the address of each machine.
    admin.network.create_subnet(network_id=network.id, name='subnet', ip_version=4, cidr='127.99.0.0/16', is_dhcp_enabled=False)
    admin.compute.update_quota_set(admin.identity.find_project('small').id, instances=2)
    fleet.compute.create_server_group(name='apart', policy='anti-affinity')


def ready(directory, hosts):
    """All hosts are there, and every service answers: the first requests after a start may fail."""
    admin, fleet = connect(directory, 'admin'), connect(directory, 'fleet')
    end = time.monotonic() + 90
    while True:
        try:
            states = [service.state for service in admin.compute.services(binary='nova-compute')]
            list(fleet.compute.servers()), list(fleet.network.networks()), list(fleet.image.images())
            if states == ['up'] * int(hosts):
                return
        except Exception as cause:      # whatever it is, it may pass
            states = cause
        if time.monotonic() > end:
            sys.exit('not ready: %s' % (states,))
        time.sleep(.3)


if __name__ == '__main__':
    globals()[sys.argv[1]](*sys.argv[2:])
