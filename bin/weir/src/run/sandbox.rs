//! The sandbox of the process. The process writes only to the directories of the config, starts no programs,
//! and cannot access other processes.
//!
//! Reads are not restricted, because a reload may name new files.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus,
};
use rustix::thread::set_no_new_privs;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};
use weir_config::Plan;
use weir_config::plan::{FleetBalancer, FleetProvider, LeasePlan, LogTarget};
use weir_model::BindAddress;

/// The sandbox in force.
#[derive(Debug, Default)]
pub(super) struct Sandbox {
    /// Directories below which the process may write; `None` = everywhere.
    writable: Option<Vec<PathBuf>>,
    starts_nothing: bool,
}

/// System calls that a load balancer never makes, but that an attacker in control of the process would make.
const FORBIDDEN: &[libc::c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_personality,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    libc::SYS_execve,
    libc::SYS_execveat,
];

impl Sandbox {
    /// Applies the sandbox to this thread and to all threads that it starts. Call it before other threads
    /// exist. Prints the restrictions that the kernel does not support to standard error.
    ///
    /// # Errors
    /// If a directory cannot be opened, or if the kernel refuses a restriction that it supports.
    pub(super) fn enter(plan: &Plan) -> Result<Self, String> {
        if let Some(fleet) = starts_programs(plan) {
            return Err(format!(
                "weir.sandbox: fleet {fleet} starts programs, which the sandbox forbids: set sandbox = false"
            ));
        }
        set_no_new_privs(true).map_err(failed)?;
        let writable = writable(plan);
        let mut sandbox = Self { writable: None, starts_nothing: false };
        match restrict_writes(&writable)? {
            RulesetStatus::NotEnforced => {
                eprintln!(
                    "weir: sandbox: this kernel has no Landlock: the process may write wherever its user may"
                );
            }
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => {
                sandbox.writable = Some(writable)
            }
        }
        match forbid_calls() {
            Ok(()) => sandbox.starts_nothing = true,
            Err(cause) => eprintln!("weir: sandbox: no system calls are forbidden: {cause}"),
        }
        Ok(sandbox)
    }

    /// Checks that a plan can run within the sandbox.
    ///
    /// # Errors
    /// If the plan needs a restart. The text gives the reason.
    pub(super) fn permits(&self, plan: &Plan) -> Result<(), String> {
        if self.starts_nothing
            && let Some(fleet) = starts_programs(plan)
        {
            return Err(format!(
                "fleet {fleet} starts programs, and the sandbox forbids it since the start ([weir] sandbox): restart Weir"
            ));
        }
        let Some(permitted) = &self.writable else { return Ok(()) };
        for directory in writable(plan) {
            // A missing directory has no canonical path.
            let place = directory.canonicalize().unwrap_or_else(|_| directory.clone());
            let is_within = |permitted: &PathBuf| {
                place.starts_with(permitted.canonicalize().as_deref().unwrap_or(permitted))
            };
            if !permitted.iter().any(is_within) {
                let directory = directory.display();
                return Err(format!(
                    "{directory}: the sandbox permits no writes there since the start ([weir] sandbox): restart Weir"
                ));
            }
        }
        Ok(())
    }
}

/// Returns the first fleet that starts programs on this machine.
pub(crate) fn starts_programs(plan: &Plan) -> Option<&str> {
    let starts = |fleet: &&weir_config::plan::FleetPlan| {
        let has_template =
            matches!(&fleet.balancer, FleetBalancer::Haproxy(backend) if backend.template.is_some());
        has_template || matches!(fleet.provider, FleetProvider::Process(_) | FleetProvider::Exec(_))
    };
    plan.fleets.iter().find(starts).map(|fleet| fleet.name.as_str())
}

/// Returns the directories to which the process writes.
fn writable(plan: &Plan) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    let mut of_file = |path: &Path| {
        // The parent of a bare file name is an empty path.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        directories.push(parent.unwrap_or(Path::new(".")).to_owned());
    };
    plan.process.control.as_deref().map(&mut of_file);
    plan.process.state.as_deref().map(&mut of_file);
    if let Some(LogTarget::File(path)) = plan.access_log.as_ref().map(|log| &log.target) {
        of_file(path);
    }
    let of_admin = plan.admin.iter().flat_map(|admin| &admin.bind);
    for bind in plan.listeners.iter().flat_map(|listener| &listener.bind).chain(of_admin) {
        if let BindAddress::Unix(path) = bind {
            of_file(path);
        }
    }
    for fleet in &plan.fleets {
        fleet.history.iter().for_each(|history| of_file(&history.file));
        if let LeasePlan::File(path) = &fleet.lease {
            of_file(path);
        }
    }
    directories.extend(plan.fleets.iter().map(|fleet| fleet.directory.clone()));
    directories.extend(plan.storage_areas.iter().map(|area| area.root.clone()));
    directories
}

fn restrict_writes(directories: &[PathBuf]) -> Result<RulesetStatus, String> {
    // Only the access rights that the kernel supports.
    let writes = AccessFs::from_write(ABI::V5);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writes)
        .and_then(Ruleset::create)
        .map_err(failed)?;
    let devices = [PathBuf::from("/dev")];
    for directory in directories.iter().chain(&devices) {
        // Creates the directory now: later, that would need write access to its parent. If it cannot be
        // created, the next line reports the error.
        let _ = fs::create_dir_all(directory);
        let opened = PathFd::new(directory)
            .map_err(|cause| format!("weir.sandbox: {}: {cause}", directory.display()))?;
        rules = rules.add_rule(PathBeneath::new(opened, writes)).map_err(failed)?;
    }
    rules.restrict_self().map(|status| status.ruleset).map_err(failed)
}

fn forbid_calls() -> Result<(), String> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
        FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    refused.insert(libc::SYS_clone, vec![into_user_namespace()?]);
    refuse(refused, libc::EPERM)?;
    // The flags of clone3 are in memory that a filter cannot read. With ENOSYS, the C library uses clone
    // instead.
    refuse(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)?;
    if cfg!(target_arch = "x86_64") {
        seccompiler::apply_filter(&without_x32()).map_err(|cause| cause.to_string())?;
    }
    Ok(())
}

/// Bit 30 of a system call number on x86_64, which selects its x32 variant (`__X32_SYSCALL_BIT`,
/// asm/unistd.h). Without a check of it, every forbidden call would have a second, permitted number. Weir is
/// never built for x32.
const X32: u32 = 1 << 30;

/// Builds a filter that refuses every number from [`X32`] on (seccomp(2); `linux/filter.h`).
fn without_x32() -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD_NUMBER, 0, 0, 0),
        step(JUMP_IF_AT_LEAST, 0, 1, X32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned()),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

/// Matches a clone into a new user namespace, which would give the process capabilities (user_namespaces(7)).
fn into_user_namespace() -> Result<SeccompRule, String> {
    let flag = u64::try_from(libc::CLONE_NEWUSER).unwrap_or_default();
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag);
    condition.and_then(|condition| SeccompRule::new(vec![condition])).map_err(|cause| cause.to_string())
}

fn refuse(calls: BTreeMap<i64, Vec<SeccompRule>>, error: libc::c_int) -> Result<(), String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|cause| cause.to_string())?;
    let action = SeccompAction::Errno(error.cast_unsigned());
    let filter =
        SeccompFilter::new(calls, SeccompAction::Allow, action, arch).map_err(|cause| cause.to_string())?;
    let program = BpfProgram::try_from(filter).map_err(|cause| cause.to_string())?;
    seccompiler::apply_filter(&program).map_err(|cause| cause.to_string())
}

fn failed(cause: impl Display) -> String {
    format!("weir.sandbox: {cause}")
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;

    use weir_config::Source;
    use weir_testkit::TempDir;

    use super::*;

    fn plan(text: &str) -> Plan {
        let text = format!("{text}\n[listener.web]\nbind = \"127.0.0.1:0\"\n[[route]]\nrespond = 204\n");
        let source = Source { name: "test.toml".to_owned(), text };
        weir_config::load(&[source], &|_| None).expect("a good config").plan
    }

    /// Runs `act` in a sandboxed thread. Returns `None` if the kernel does not support all restrictions.
    fn within<T: Send>(plan: &Plan, act: impl FnOnce(&Sandbox) -> T + Send) -> Option<T> {
        thread::scope(|scope| {
            let job = scope.spawn(|| {
                let sandbox = Sandbox::enter(plan).unwrap();
                let has_all = sandbox.writable.is_some() && sandbox.starts_nothing;
                if !has_all {
                    weir_testkit::untested("this kernel has no Landlock or no seccomp");
                }
                has_all.then(|| act(&sandbox))
            });
            job.join().unwrap()
        })
    }

    #[test]
    fn it_writes_where_the_config_says_and_nowhere_else() {
        let (named, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let state = named.path().join("made/state.toml");
        let plan = plan(&format!("[weir]\ncontrol = false\nstate = {state:?}\n"));
        fs::write(other.path().join("there"), "text").unwrap();
        let written = within(&plan, |_| {
            let read = fs::read_to_string(other.path().join("there"));
            let outside = [
                fs::write(other.path().join("new"), ""),
                fs::write(other.path().join("there"), ""),
                fs::remove_file(other.path().join("there")),
                fs::create_dir(other.path().join("directory")),
            ];
            let inside = [
                fs::write(&state, ""),
                fs::rename(&state, named.path().join("made/other")),
                fs::remove_file(named.path().join("made/other")),
            ];
            (read.unwrap(), outside.map(|it| it.unwrap_err().kind()), inside.map(|it| it.is_ok()))
        });
        let denied = std::io::ErrorKind::PermissionDenied;
        assert!(written.is_none_or(|it| it == ("text".to_owned(), [denied; 4], [true; 3])));
    }

    #[test]
    fn a_file_without_a_directory_is_in_the_current_one_and_permits_no_other() {
        let plan = plan("[weir]\ncontrol = false\nstate = \"state.toml\"\n");
        assert_eq!(writable(&plan), [Path::new(".")]);
        let sandbox = Sandbox { writable: Some(writable(&plan)), starts_nothing: true };
        assert_eq!(sandbox.permits(&plan), Ok(()));
        let elsewhere = self::plan("[weir]\ncontrol = false\nstate = \"/var/lib/other/state.toml\"\n");
        assert!(sandbox.permits(&elsewhere).is_err());
    }

    #[test]
    fn it_starts_threads_and_no_programs() {
        let cause =
            within(&plan("[weir]\ncontrol = false\nstate = false\n"), |_| Command::new("/bin/true").status());
        assert!(cause.is_none_or(|it| it.unwrap_err().kind() == std::io::ErrorKind::PermissionDenied));
    }

    /// Returns the kernel's verdict on a call with this number. Interprets the part of `linux/filter.h` that
    /// [`without_x32`] uses.
    fn verdict(filter: &BpfProgram, number: u32) -> u32 {
        let (mut accumulator, mut at) = (0, 0);
        loop {
            let step = &filter[at];
            at += 1;
            match step.code {
                0x20 => accumulator = if step.k == 0 { number } else { panic!("not the number") },
                0x35 => at += usize::from(if accumulator >= step.k { step.jt } else { step.jf }),
                0x06 => return step.k,
                code => panic!("{code:#x}"),
            }
        }
    }

    #[test]
    fn a_forbidden_call_has_no_second_number() {
        let filter = without_x32();
        let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
        for call in FORBIDDEN {
            let number = u32::try_from(*call).unwrap();
            assert_eq!(verdict(&filter, number | X32), refused, "{number}");
            assert_eq!(verdict(&filter, number), libc::SECCOMP_RET_ALLOW, "{number}: another filter's");
        }
        // Numbers of calls that only x32 has begin at 512.
        assert_eq!([X32 + 512, u32::MAX].map(|number| verdict(&filter, number)), [refused; 2]);
    }

    #[test]
    fn a_config_that_needs_more_is_refused() {
        let (named, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let area = |root: &Path| {
            format!("[weir]\ncontrol = false\nstate = false\n[storage-area.data]\nroot = {root:?}\n")
        };
        let fleet = "[weir]\ncontrol = false\nstate = false\n[pool.app]\ncheck = \"GET /health\"\n[fleet.app]\npool = \"app\"\nmax = 2\ncapacity = 10\n\
                     process = { command = \"app\" }\n";
        assert!(Sandbox::enter(&plan(fleet)).unwrap_err().contains("fleet app starts programs"));
        let refused = within(&plan(&area(named.path())), |sandbox| {
            [area(named.path()), area(&named.path().join("below")), area(other.path()), fleet.to_owned()]
                .map(|text| sandbox.permits(&plan(&text)).err())
        });
        let Some([same, below, elsewhere, programs]) = refused else { return };
        assert_eq!((same, below), (None, None));
        assert!(elsewhere.unwrap().contains("the sandbox permits no writes there since the start"));
        assert!(programs.unwrap().contains("fleet app starts programs"));
    }
}
