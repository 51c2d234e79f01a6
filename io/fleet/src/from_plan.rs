//! Creates a fleet's provider and load balancer from the config.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use weir_config::plan::{
    FleetBalancer, FleetCloud, FleetPlan, FleetProcesses, FleetProgram, FleetProvider, FleetRestart,
    HaproxyBackend,
};

use crate::exec::{ExecProvider, ExecSettings};
use crate::haproxy::{self, Haproxy, Rendered, Silence};
use crate::live::Balancer;
use crate::openstack::{AddressChoice, OpenStackProvider, OpenStackSettings, Park, Surroundings};
use crate::process::{Limits, ProcessProvider, ProcessSettings, Restart};
use crate::{Failure, FailureKind, Provider, Steps, pods};

/// Maximum size of user data in Nova.
const USER_DATA_BYTES_MAX: u64 = 64 << 10;

/// Opens the provider of a fleet, for the process that holds its lease.
///
/// # Errors
/// If the config cannot work, or if a file operation fails. Gives the cause.
pub fn open(plan: &FleetPlan) -> Result<Box<dyn Provider>, String> {
    Ok(match &plan.provider {
        FleetProvider::Process(processes) => {
            let settings = process_settings(plan, processes);
            Box::new(ProcessProvider::open(settings, Steps::default()).map_err(|cause| cause.to_string())?)
        }
        FleetProvider::Exec(program) => Box::new(ExecProvider::new(exec_settings(plan, program))),
        FleetProvider::OpenStack(cloud) => {
            Box::new(OpenStackProvider::new(openstack_settings(plan, cloud)?)?)
        }
        FleetProvider::Kubernetes(of) => pods::provider(plan, of)?,
    })
}

/// Checks a provider's programs and files on this machine.
pub fn check(plan: &FleetPlan) -> Result<(), String> {
    if let FleetBalancer::Haproxy(HaproxyBackend { template: Some(template), .. }) = &plan.balancer {
        haproxy::check(template)?;
    }
    match &plan.provider {
        FleetProvider::Process(processes) => {
            crate::process::find_program(&process_settings(plan, processes)).map(drop)
        }
        FleetProvider::Exec(program) => crate::exec::find_program(&exec_settings(plan, program)),
        FleetProvider::OpenStack(cloud) => {
            openstack_settings(plan, cloud).and_then(OpenStackProvider::new).map(drop)
        }
        FleetProvider::Kubernetes(of) => pods::provider(plan, of).map(drop),
    }
}

/// Creates the HAProxy connection of a fleet, for the process that holds its lease.
pub fn haproxy(plan: &FleetPlan, backend: &HaproxyBackend) -> Box<dyn Balancer> {
    let haproxy = over_socket(plan, backend);
    match &backend.template {
        Some(template) => Box::new(Rendered::new(haproxy, template.clone(), &plan.directory)),
        None => Box::new(haproxy),
    }
}

fn over_socket(plan: &FleetPlan, backend: &HaproxyBackend) -> Haproxy {
    Haproxy {
        fleet: plan.name.to_string(),
        socket: backend.socket.clone(),
        backend: backend.backend.clone(),
        options: backend.server.clone(),
        silence: Silence::default(),
    }
}

/// Asks the provider and HAProxy if the config can work. Changes nothing.
///
/// # Errors
/// If the config cannot work, or if one of them does not answer.
pub async fn verify(plan: &FleetPlan) -> Result<(), Failure> {
    let wrong = |why: String| Failure::new(FailureKind::Permanent, why);
    check(plan).map_err(wrong)?;
    if let FleetBalancer::Haproxy(backend) = &plan.balancer {
        let haproxy = over_socket(plan, backend);
        let verified = match &backend.template {
            Some(template) => Rendered::new(haproxy, template.clone(), &plan.directory).verify(),
            None => haproxy.verify(),
        };
        verified.map_err(wrong)?;
    }
    match elsewhere(plan).map_err(wrong)? {
        Some(provider) => {
            provider.verify().await?;
            provider.proofread().await
        }
        None => Ok(()),
    }
}

/// Number of machines that a fleet can have now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Present machines, including stopped ones.
    pub there: u32,
    /// Further machines that the provider has room for.
    pub room: u32,
}

/// Asks the provider for the possible number of machines; `None` = no known limit. Changes nothing.
///
/// # Errors
/// If the provider does not answer or refuses the request.
pub async fn reach(plan: &FleetPlan) -> Result<Option<Reach>, Failure> {
    let provider = elsewhere(plan).map_err(|why| Failure::new(FailureKind::Permanent, why))?;
    let Some(provider) = provider else { return Ok(None) };
    let Some(room) = provider.room().await? else { return Ok(None) };
    let there = u32::try_from(provider.machines().await?.len()).unwrap_or(u32::MAX);
    Ok(Some(Reach { there, room }))
}

/// Returns the provider if it is remote; local processes have none.
fn elsewhere(plan: &FleetPlan) -> Result<Option<Box<dyn Provider>>, String> {
    match &plan.provider {
        FleetProvider::Process(_) => Ok(None),
        FleetProvider::Exec(_) | FleetProvider::OpenStack(_) | FleetProvider::Kubernetes(_) => {
            open(plan).map(Some)
        }
    }
}

fn process_settings(plan: &FleetPlan, processes: &FleetProcesses) -> ProcessSettings {
    let directory = plan.directory.join("processes");
    ProcessSettings {
        address: processes.address,
        ports: processes.ports.map(|(first, last)| first..=last),
        environment: processes.environment.clone().into_iter().collect(),
        working_directory: processes.working_directory.clone(),
        limits: Limits {
            open_files: processes.open_files_max,
            memory_bytes: processes.memory_max.map(|size| size.0),
            cpu_s: processes.cpu_time_max.map(|time| time.duration().as_secs().max(1)),
            core_bytes: processes.core_max.map(|size| size.0),
        },
        restart: match processes.restart {
            FleetRestart::Always => Restart::Always,
            FleetRestart::OnFailure => Restart::OnFailure,
            FleetRestart::Never => Restart::Never,
        },
        restart_pause: processes.restart_pause.duration(),
        stop_grace: processes.stop_grace.duration(),
        log_bytes_max: processes.output_max.0,
        machines_max: plan.rules.bounds.quota,
        ..ProcessSettings::new(directory, processes.command.clone())
    }
}

fn exec_settings(plan: &FleetPlan, program: &FleetProgram) -> ExecSettings {
    ExecSettings {
        fleet: plan.name.to_string(),
        command: program.command.clone(),
        environment: program.environment.clone().into_iter().collect(),
        working_directory: program.working_directory.clone(),
        timeout: program.timeout.duration(),
        settling: program.settling.duration(),
    }
}

fn openstack_settings(plan: &FleetPlan, of: &FleetCloud) -> Result<OpenStackSettings, String> {
    let cloud = Surroundings::of_process().cloud(of.cloud.as_deref())?;
    let user_data = of.user_data.as_deref().map(user_data).transpose()?;
    Ok(OpenStackSettings {
        other_flavors: plan.rules.capacity.others.iter().map(|(name, _)| name.to_string()).collect(),
        networks: of.networks.clone(),
        key_pair: of.key_pair.clone(),
        user_data,
        metadata: of.metadata.clone(),
        tags: of.tags.clone(),
        server_group: of.server_group.clone(),
        security_groups: of.security_groups.clone(),
        availability_zone: of.availability_zone.clone(),
        config_drive: of.config_drive,
        standby: plan.rules.standby.keep > 0,
        park: if of.shelve { Park::Shelve } else { Park::Stop },
        address: AddressChoice {
            network: of.address_network.clone(),
            version: of.address_version,
            floating: of.floating,
        },
        build_timeout: of.build_timeout.duration(),
        timeout: of.timeout.duration(),
        ..OpenStackSettings::new(plan.name.as_str(), cloud, &of.image, &of.flavor)
    })
}

fn user_data(path: &Path) -> Result<String, String> {
    let named = |why: String| format!("user-data: {}: {why}", path.display());
    let mut text = String::new();
    let file = File::open(path).map_err(|cause| named(cause.to_string()))?;
    file.take(USER_DATA_BYTES_MAX + 1).read_to_string(&mut text).map_err(|cause| named(cause.to_string()))?;
    if text.len() as u64 > USER_DATA_BYTES_MAX {
        return Err(named(format!("longer than {USER_DATA_BYTES_MAX} bytes")));
    }
    Ok(text)
}
