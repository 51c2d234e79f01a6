//! Provider whose machines are processes of this computer.
//!
//! The processes outlive Weir: if Weir is killed, they continue to serve, and the next Weir process adopts
//! them. Each has a record, which is on disk before its process is started. Each process also has the
//! machine's name in its environment, by which a started but unrecorded process is found.

mod keeping;
mod launch;
mod log;
mod procfs;
mod record;
mod settings;
mod signal;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::process::Child;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) use self::launch::find_program;
pub(crate) use self::procfs::Mark;
use self::record::{Life, Record, Records, Wanted};
pub use self::settings::{Limits, MACHINE_VARIABLE, ProcessSettings, Restart};
use crate::{Answer, Failure, FailureKind, Machine, MachineId, MachineState, Order, Provider, Steps, Token};

/// Provider for processes of one command.
pub struct ProcessProvider {
    settings: ProcessSettings,
    records: Records,
    processes: RefCell<BTreeMap<Token, Process>>,
    /// Canonical path of the directory.
    place: String,
    boot: String,
    clock: Rc<dyn Fn() -> Duration>,
    steps: Steps,
}

struct Process {
    record: Record,
    /// Handle of a child process. An adopted process has none, because it has another parent.
    child: Option<Child>,
}

impl ProcessProvider {
    /// Reads the records and adopts the running processes. Only one provider may use the directory at a time:
    /// acquire the [`Lease`](crate::Lease) first.
    pub fn open(settings: ProcessSettings, steps: Steps) -> io::Result<Self> {
        let since_boot = || {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
            Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
        };
        Self::with_clock(settings, steps, Rc::new(since_boot))
    }

    /// Does the same with another clock, which returns the time since boot.
    pub fn with_clock(
        settings: ProcessSettings,
        steps: Steps,
        clock: Rc<dyn Fn() -> Duration>,
    ) -> io::Result<Self> {
        let records = Records::open(&settings.directory)?;
        let place = settings.directory.canonicalize()?.display().to_string();
        let boot = procfs::boot();
        let loaded = records.load(&boot)?;
        let processes =
            loaded.into_iter().map(|record| (record.token.clone(), Process { record, child: None }));
        let processes = RefCell::new(processes.collect());
        let provider = Self { settings, records, processes, place, boot, clock, steps };
        provider.adopt()?;
        Ok(provider)
    }

    /// Returns the latest output of a process, at most `bytes_max` bytes.
    pub fn output(&self, id: &MachineId, bytes_max: u64) -> io::Result<Vec<u8>> {
        match Token::new(id.as_str()) {
            Ok(token) => log::latest(&self.records.log(&token), bytes_max),
            Err(cause) => Err(io::Error::new(io::ErrorKind::NotFound, cause)),
        }
    }

    /// Finds the processes that were started but not recorded.
    fn adopt(&self) -> io::Result<()> {
        let mut processes = self.processes.borrow_mut();
        let lost = |process: &Process| !process.record.life.process.is_some_and(|mark| mark.is_alive());
        if !processes.values().any(lost) {
            return Ok(());
        }
        // The oldest process that leads a group is the started one; others are its descendants.
        for carrier in procfs::carriers(MACHINE_VARIABLE).into_iter().filter(|carrier| carrier.leads) {
            let named = |(token, process): &(&Token, &mut Process)| {
                lost(process) && self.name_of(token) == carrier.value
            };
            if let Some((_, process)) = processes.iter_mut().find(named) {
                process.record.life.process = Some(carrier.mark);
                process.record.life.started_ms = self.now_ms();
                process.record.life.restart_at_ms = None;
                self.records.save(&process.record)?;
            }
        }
        Ok(())
    }

    /// Returns the name of a machine's processes in this computer. It includes the path, because another
    /// directory may have a machine with the same name.
    fn name_of(&self, token: &Token) -> String {
        format!("{}/{token}", self.place)
    }

    fn list(&self) -> Vec<Machine> {
        self.processes.borrow().values().map(|process| self.machine(&process.record)).collect()
    }

    fn machine(&self, record: &Record) -> Machine {
        let alive = record.life.process.is_some_and(|mark| mark.is_alive());
        let state = match (record.wanted, alive) {
            (Wanted::Running, true) => MachineState::Running,
            (Wanted::Running, false) => MachineState::Building,
            (Wanted::Stopped, true) => MachineState::Stopping,
            (Wanted::Stopped, false) if record.given_up => MachineState::Failed,
            (Wanted::Stopped, false) => MachineState::Stopped,
            (Wanted::Gone, _) => MachineState::Deleting,
        };
        let note = record.last_end.as_ref().filter(|_| !alive && record.wanted != Wanted::Gone);
        let note = note.map(|end| match record.restarts {
            0 => format!("ended: {end}"),
            times => format!("ended: {end}; restarts in a row: {times}"),
        });
        Machine {
            id: MachineId(record.token.to_string()),
            token: Some(record.token.clone()),
            ip: Some(self.settings.address),
            port: Some(record.port),
            state,
            flavour: None,
            zone: None,
            cost_per_hour: None,
            tags: BTreeMap::new(),
            created_s: Some(record.created_s),
            note,
        }
    }

    fn create_now(&self, order: Order<'_>) -> Result<Machine, Failure> {
        let mut processes = self.processes.borrow_mut();
        if let Some(process) = processes.get(order.token) {
            return match process.record.wanted {
                Wanted::Gone => Err(conflict(order.token, "is being deleted")),
                Wanted::Running | Wanted::Stopped => Ok(self.machine(&process.record)),
            };
        }
        if let Some(max) = self.settings.machines_max
            && processes.len() >= max as usize
        {
            let message = format!("there are {} processes already, as many as may be", processes.len());
            return Err(Failure::new(FailureKind::Quota, message));
        }
        let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let record = Record {
            token: order.token.clone(),
            port: self.port(&processes)?,
            created_s: created.as_secs(),
            wanted: Wanted::Running,
            given_up: false,
            last_end: None,
            restarts: 0,
            boot: self.boot.clone(),
            life: Life::default(),
        };
        self.records.save(&record).map_err(disk)?;
        self.steps.reached("a machine is recorded");
        let mut process = Process { record, child: None };
        if let Err(cause) = self.launch(&mut process) {
            // The process may run, if only its record could not be written.
            if let Some(mut child) = process.child.take() {
                let _ = child.kill();
                let _ = child.wait();
                signal::end_rest(&self.name_of(order.token));
            }
            self.records.remove(order.token).map_err(disk)?;
            return Err(Failure::new(FailureKind::Permanent, cause.to_string()));
        }
        let machine = self.machine(&process.record);
        processes.insert(order.token.clone(), process);
        Ok(machine)
    }

    fn start_now(&self, id: &MachineId) -> Result<(), Failure> {
        let mut processes = self.processes.borrow_mut();
        let (token, kept) = known(&processes, id)?;
        let port =
            if launch::is_free(self.settings.address, kept) { Ok(kept) } else { self.port(&processes) };
        let Some(process) = processes.get_mut(&token) else { return Err(unknown(id)) };
        match process.record.wanted {
            Wanted::Running => return Ok(()),
            Wanted::Gone => return Err(conflict(&token, "is being deleted")),
            Wanted::Stopped if process.is_alive() => return Err(conflict(&token, "is still stopping")),
            Wanted::Stopped => {}
        }
        process.record.port = port?;
        process.record.wanted = Wanted::Running;
        process.record.given_up = false;
        process.record.restarts = 0;
        process.record.life = Life::default();
        self.records.save(&process.record).map_err(disk)?;
        self.steps.reached("a start is recorded");
        // From here on, maintenance repeats a failed start.
        let launched = self.launch(process);
        launched.map_err(|cause| Failure::new(FailureKind::Permanent, format!("{token}: {cause}")))
    }

    fn end_now(&self, id: &MachineId, wanted: Wanted) -> Result<(), Failure> {
        {
            let mut processes = self.processes.borrow_mut();
            let (token, _) = known(&processes, id)?;
            let Some(process) = processes.get_mut(&token) else { return Err(unknown(id)) };
            if process.record.wanted == Wanted::Gone || process.record.wanted == wanted {
                return Ok(());
            }
            process.record.wanted = wanted;
            process.record.life.restart_at_ms = None;
            if process.is_alive() && process.record.life.end_by_ms.is_none() {
                process.record.life.end_by_ms = Some(self.now_ms() + millis(self.settings.stop_grace));
            }
            self.records.save(&process.record).map_err(disk)?;
        }
        self.steps.reached("an end is recorded");
        self.keep().map_err(disk)
    }

    fn port(&self, processes: &BTreeMap<Token, Process>) -> Result<u16, Failure> {
        let taken = |port| processes.values().any(|process| process.record.port == port);
        let ProcessSettings { address, ports, .. } = &self.settings;
        match launch::free_port(*address, ports.as_ref(), taken) {
            Ok(Some(port)) => Ok(port),
            Ok(None) => Err(Failure::new(FailureKind::Quota, format!("no port of {address} is free"))),
            Err(cause) => Err(Failure::new(FailureKind::Permanent, format!("{address}: {cause}"))),
        }
    }

    fn launch(&self, process: &mut Process) -> io::Result<()> {
        let record = &mut process.record;
        let log = self.records.log(&record.token);
        let name = self.name_of(&record.token);
        let Some(lock) = self.records.lock(&record.token)? else {
            // The former Weir process was killed while it started this process, which will be visible soon.
            let found = procfs::carriers(MACHINE_VARIABLE);
            let found = found.into_iter().find(|carrier| carrier.leads && carrier.value == name);
            let held =
                || io::Error::new(io::ErrorKind::WouldBlock, "one that was started before holds its lock");
            record.life = Life { process: Some(found.ok_or_else(held)?.mark), ..Life::default() };
            record.life.started_ms = self.now_ms();
            return self.records.save(record);
        };
        let child = launch::launch(&self.settings, &record.token, &name, record.port, lock, &log)?;
        self.steps.reached("a process is started");
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        // The process was not waited for, so its pid is not reused, even if it has ended.
        record.life = Life { process: procfs::Mark::of(pid), started_ms: self.now_ms(), ..Life::default() };
        process.child = Some(child);
        self.records.save(record)?;
        self.steps.reached("a process is recorded");
        Ok(())
    }

    fn now_ms(&self) -> u64 {
        millis((self.clock)())
    }
}

impl Process {
    fn is_alive(&self) -> bool {
        self.record.life.process.is_some_and(|mark| mark.is_alive())
    }
}

impl Provider for ProcessProvider {
    fn machines(&self) -> Answer<'_, Vec<Machine>> {
        Box::pin(async { Ok(self.list()) })
    }

    fn create<'a>(&'a self, order: Order<'a>) -> Answer<'a, Machine> {
        Box::pin(async move { self.create_now(order) })
    }

    fn start<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(async move { self.start_now(id) })
    }

    fn stop<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(async move { self.end_now(id, Wanted::Stopped) })
    }

    fn delete<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(async move {
            match self.end_now(id, Wanted::Gone) {
                Err(failure) if failure.kind == FailureKind::NotFound => Ok(()),
                result => result,
            }
        })
    }

    fn room(&self) -> Answer<'_, Option<u32>> {
        Box::pin(async {
            let there = u32::try_from(self.processes.borrow().len()).unwrap_or(u32::MAX);
            Ok(self.settings.machines_max.map(|max| max.saturating_sub(there)))
        })
    }

    fn verify(&self) -> Answer<'_, ()> {
        Box::pin(async {
            let found = launch::find_program(&self.settings);
            found.map(drop).map_err(|why| Failure::new(FailureKind::Permanent, why))
        })
    }

    fn tend(&self) -> Answer<'_, ()> {
        Box::pin(async { self.keep().map_err(disk) })
    }
}

impl std::fmt::Debug for ProcessProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcessProvider").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Returns the token and the port of a machine's process.
fn known(processes: &BTreeMap<Token, Process>, id: &MachineId) -> Result<(Token, u16), Failure> {
    let token = Token::new(id.as_str()).map_err(|_| unknown(id))?;
    let process = processes.get(&token).ok_or_else(|| unknown(id))?;
    Ok((token, process.record.port))
}

fn unknown(id: &MachineId) -> Failure {
    Failure::new(FailureKind::NotFound, format!("{id}: there is no such process"))
}

fn conflict(token: &Token, why: &str) -> Failure {
    Failure::new(FailureKind::Conflict, format!("{token} {why}"))
}

/// Converts the error of a record, which may have been written.
fn disk(cause: io::Error) -> Failure {
    Failure::new(FailureKind::Uncertain, cause.to_string())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
