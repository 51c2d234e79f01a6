"""A compute driver that books machines and boots none.

Nova's own fake driver, but for what it forgets: its hosts get another identity with every start, which Nova refuses, and its
machines are gone. And for faults, each machine's own, so that tests do not meet each other's: metadata of a machine name files, and
what is to happen to it happens as long as they are there.

    holds: it builds until the file is gone
    fails: its build ends in an error
"""
import os
import time
import uuid

from nova import context as contexts
from nova import exception, objects
from nova.compute import power_state, vm_states
from nova.virt import fake, node


# A test that forgets its machine does not keep a thread of Nova for ever.
HELD_MAX_S = 300


def identity(name):
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, 'weir-' + name))


class Driver(fake.FakeDriver):
    def init_host(self, host):
        super().init_host(host)
        self.host_status_base = {**self.host_status_base, 'hypervisor_hostname': host}
        node.get_local_node_uuid()  # writes the file that is looked for at the next start
        for instance in objects.InstanceList.get_by_host(contexts.get_admin_context(), host):
            if instance.vm_state in (vm_states.BUILDING, vm_states.ERROR, vm_states.SHELVED_OFFLOADED):
                continue
            running = instance.vm_state == vm_states.ACTIVE
            state = power_state.RUNNING if running else power_state.SHUTDOWN
            self.instances[instance.uuid] = fake.FakeInstance(instance.name, state, instance.uuid)
            flavor = instance.flavor
            self.resources.claim(vcpus=flavor.vcpus, mem=flavor.memory_mb, disk=flavor.root_gb)

    def get_nodenames_by_uuid(self, refresh=False):
        return {identity(name): name for name in self.get_available_nodes()}

    def get_available_resource(self, nodename):
        resource = super().get_available_resource(nodename)
        if resource:
            resource['uuid'] = identity(nodename)
        return resource

    def spawn(self, context, instance, *arguments, **named):
        def told_to(fault):
            return os.path.exists(instance.metadata.get(fault, ''))

        end = time.monotonic() + HELD_MAX_S
        while told_to('holds') and time.monotonic() < end:
            time.sleep(.1)
        if told_to('fails'):
            raise exception.BuildAbortException(instance_uuid=instance.uuid, reason='it was to fail')
        super().spawn(context, instance, *arguments, **named)
