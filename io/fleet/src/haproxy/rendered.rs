//! A HAProxy that servers cannot be added to: its configuration is made of a template, and it is reloaded.
//!
//! What should be in it is remembered in the fleet's directory, and compared with what the process that answers at the socket has. Whatever
//! differs in one look is changed by one reload; drains, ends and beginnings are told over the socket, at once. A process that was
//! reloaded finishes what it has: as long as it does, each draining server that it knew counts as having a request.

use std::cell::RefCell;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weir_config::plan::HaproxyTemplate;
use weir_model::ServerName;
use weir_scale::Sample;

use super::record::{Listed, Record, RecordFile, Standing};
use super::stat::Stat;
use super::states::States;
use super::template::{Entry, State, Template};
use super::{Haproxy, command};
use crate::live::{Balancer, Health, Member};
use crate::process::Mark;
use crate::{Backoff, program, storage, token_of};

/// A backend of a HAProxy that is reloaded.
#[derive(Debug)]
pub(crate) struct Rendered {
    haproxy: Haproxy,
    plan: HaproxyTemplate,
    /// What commands print.
    output: PathBuf,
    state: RefCell<Kept>,
}

#[derive(Debug)]
struct Kept {
    file: RecordFile,
    /// What HAProxy has of the fleet is taken over: nothing is known of before.
    adopts: bool,
    /// The servers of the process that answered last.
    known: Option<Vec<String>>,
    /// The configuration as it is on disk.
    written: Option<String>,
    backoff: Backoff,
    /// The template that was tried last.
    tried: Option<u64>,
    /// Why the configuration is not what it should be.
    trouble: Option<String>,
    /// What could not be told over the socket.
    untold: Vec<String>,
    reloaded: Option<Instant>,
    began: Instant,
}

/// What one process of HAProxy says.
struct Seen {
    process: Mark,
    members: Vec<Member>,
    states: States,
}

/// For a process that is about to end another one answers soon.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);
/// While one process takes over from another, either may answer.
const STEADY: u32 = 3;
/// Each reload leaves a process behind for a while.
const APART: Duration = Duration::from_secs(1);
const RETRY_FIRST: Duration = Duration::from_secs(2);
const RETRY_LONGEST: Duration = Duration::from_secs(60);

/// What is wrong with a template as far as this machine can tell: the file, the programs.
pub(crate) fn check(plan: &HaproxyTemplate) -> Result<(), String> {
    read(&plan.file)?;
    for words in [&plan.validate, &plan.reload] {
        let name = words.first().map_or("", String::as_str);
        program::find(name, Path::new("/")).map_err(|why| format!("haproxy: {why}"))?;
    }
    Ok(())
}

impl Rendered {
    /// With what is remembered in the fleet's directory.
    pub(crate) fn new(haproxy: Haproxy, plan: HaproxyTemplate, directory: &Path) -> Self {
        // Of two backends, one after the other, each has its own.
        let place = hash(&haproxy.socket);
        let name = format!("haproxy-{}-{place:016x}", haproxy.backend);
        let (loaded, trouble) = match RecordFile::load(directory, &name) {
            Ok(loaded) => (loaded, None),
            Err(cause) => (None, Some(format!("what HAProxy should have is taken from HAProxy: {cause}"))),
        };
        let kept = Kept {
            adopts: loaded.is_none(),
            file: loaded.unwrap_or_else(|| RecordFile::empty(directory, &name)),
            known: None,
            written: fs::read_to_string(&plan.config).ok(),
            backoff: Backoff::new(RETRY_FIRST, RETRY_LONGEST),
            tried: None,
            trouble,
            untold: Vec::new(),
            reloaded: None,
            began: Instant::now(),
        };
        Self { haproxy, plan, output: directory.join(format!("{name}.log")), state: RefCell::new(kept) }
    }

    /// Asks HAProxy what is needed, and whether it finds valid what is made of the template. Changes nothing.
    pub(crate) fn verify(&self) -> Result<(), String> {
        self.haproxy.verify()?;
        self.ask()?;
        let (template, _) = read(&self.plan.file)?;
        let state = self.state.borrow();
        let text = template.render(&entries(&state.file.record, &self.haproxy.options, |_| true));
        let (file, output) =
            (beside(&self.plan.config, "weir-check"), beside(&self.plan.config, "weir-check-log"));
        let validated = self.validate(&file, &text, &output);
        for path in [&file, &output] {
            storage::remove(path).map_err(|cause| cause.to_string())?;
        }
        validated
    }

    /// What the process at the socket says; `None` = it is about to end.
    fn ask(&self) -> Result<Option<Seen>, String> {
        let backend = &self.haproxy.backend;
        // Over one connection, so that it is one process that answers.
        let text = self.haproxy.ask(&format!("show info;show stat;show servers state {backend}"))?;
        let named = |why: String| format!("{}: {why}", self.haproxy.socket.display());
        let (info, rest) = text
            .split_once("# pxname")
            .ok_or_else(|| named(format!("not what show info and show stat tell: {:.80}", text.trim())))?;
        let number = |name: &str| -> Option<i32> {
            info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.trim().parse().ok())
        };
        if number("Stopping") == Some(1) {
            return Ok(None);
        }
        let (stat, states) =
            rest.split_once("# be_id").ok_or_else(|| named(format!("there is no backend {backend}")))?;
        let stat = Stat::parse(&format!("# pxname{stat}")).map_err(named)?;
        let states = States::parse(&format!("# be_id{states}")).map_err(named)?;
        let pid = number("Pid").ok_or_else(|| named("show info tells no Pid".to_owned()))?;
        let process = Mark::of(pid)
            .ok_or_else(|| named(format!("HAProxy's process {pid} is none of this machine's")))?;
        let members = stat.members(backend, |name| token_of(&self.haproxy.fleet, name));
        if members.iter().any(|member| member.address.is_none()) {
            return Err(named("show stat tells no addresses: HAProxy 1.8 or newer is needed".to_owned()));
        }
        Ok(Some(Seen { process, members, states }))
    }

    fn look(&self) -> Result<Seen, String> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.ask()? {
                Some(seen) => return Ok(seen),
                None if Instant::now() >= until => {
                    let socket = self.haproxy.socket.display();
                    return Err(format!("{socket}: only a process that is about to end answers"));
                }
                None => std::thread::sleep(LOOK),
            }
        }
    }

    /// Tells again what a new process does not know, or what was not heard.
    fn settle(&self, state: &mut Kept, seen: &Seen) {
        state.untold.clear();
        for member in &seen.members {
            let Some(listed) = state.file.record.servers.get(member.server.as_str()) else { continue };
            let is_out = seen.states.is_out(member.server.as_str());
            let told = match listed.standing {
                Standing::Drain if !is_out => self.haproxy.drain(&member.server),
                Standing::New | Standing::Ready if listed.to_begin => self.haproxy.begin(&member.server),
                _ => Ok(()),
            };
            state.untold.extend(told.err().map(|why| format!("{}: {why}", member.server)));
        }
    }

    /// Makes the configuration what it should be, and has it read if that needs a reload. Returns whether it was.
    fn apply(&self, state: &mut Kept, seen: &Seen, template: &Template, hash: u64) -> Result<bool, String> {
        let record = &state.file.record;
        let reloads = record.differs(seen) || record.template != Some(hash);
        // Who does not serve now has to prove itself in the new process, too, which would take it for well.
        let is_up = |name: &str| {
            let member = seen.members.iter().find(|member| member.server.as_str() == name);
            member.is_some_and(|member| matches!(member.health, Health::Up(_)))
        };
        let text = template.render(&entries(record, &self.haproxy.options, |name| !reloads || is_up(name)));
        if !reloads {
            if state.written.as_ref() != Some(&text) {
                self.write(&text)?;
                state.written = Some(text);
            }
            return Ok(false);
        }
        if state.reloaded.is_some_and(|at| at.elapsed() < APART) {
            return Ok(false);
        }
        self.write(&text)?;
        state.written = Some(text);
        state.file.save().map_err(|cause| cause.to_string())?;
        self.reload(seen.process)?;
        state.reloaded = Some(Instant::now());
        state.file.record.template = Some(hash);
        Ok(true)
    }

    /// Replaces the configuration by one that HAProxy finds valid.
    fn write(&self, text: &str) -> Result<(), String> {
        let fresh = beside(&self.plan.config, "weir-new");
        if let Err(why) = self.validate(&fresh, text, &self.output) {
            // It may not be there at all.
            let _ = fs::remove_file(&fresh);
            return Err(why);
        }
        fs::rename(&fresh, &self.plan.config)
            .and_then(|()| storage::sync_directory_of(&self.plan.config))
            .map_err(|cause| format!("{}: {cause}", self.plan.config.display()))
    }

    fn validate(&self, file: &Path, text: &str, output: &Path) -> Result<(), String> {
        let write = || {
            fs::write(file, text)?;
            // There may be secrets in it, and those who may read the template know them.
            fs::set_permissions(file, fs::metadata(&self.plan.file)?.permissions())?;
            fs::File::open(file)?.sync_all()
        };
        write().map_err(|cause| format!("{}: {cause}", file.display()))?;
        let name = file.to_string_lossy();
        command::run(&self.plan.validate, &[("file", &name)], output, self.plan.timeout.duration())
            .map_err(|why| format!("what is made of {} is not valid: {why}", self.plan.file.display()))
    }

    /// Has the configuration read, and waits for the process that has.
    fn reload(&self, before: Mark) -> Result<(), String> {
        let patience = self.plan.timeout.duration();
        let (config, pid) = (self.plan.config.to_string_lossy(), before.pid.to_string());
        command::run(&self.plan.reload, &[("config", &config), ("pid", &pid)], &self.output, patience)
            .map_err(|why| format!("the reload has failed: {why}"))?;
        let until = Instant::now() + patience;
        let mut answers = 0;
        while answers < STEADY {
            answers = match self.ask() {
                Ok(Some(seen)) if seen.process != before => answers + 1,
                _ => 0,
            };
            if Instant::now() >= until {
                let socket = self.haproxy.socket.display();
                return Err(format!(
                    "{socket}: after the reload no other process answers than {}",
                    before.pid
                ));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// What is told when a reload has not brought what it was for.
    fn missed(&self) -> String {
        format!(
            "{}: after a reload, backend {} has not the servers that it should have: does the template give it every one, where it is?",
            self.plan.file.display(),
            self.haproxy.backend
        )
    }

    /// Changes what HAProxy should have, if the server is known.
    fn change(&self, server: &ServerName, change: impl FnOnce(&mut Listed)) -> Result<(), String> {
        let mut state = self.state.borrow_mut();
        if let Some(listed) = state.file.record.servers.get_mut(server.as_str()) {
            change(listed);
        }
        state.file.save().map_err(|cause| cause.to_string())
    }
}

impl Balancer for Rendered {
    fn sample(&self) -> Sample {
        self.haproxy.sample()
    }

    fn members(&self) -> Result<Vec<Member>, String> {
        let state = &mut *self.state.borrow_mut();
        let mut seen = self.look()?;
        state.learn(&seen);
        self.settle(state, &seen);
        let template = read(&self.plan.file);
        // One that was mended is tried at once.
        let tried = template.as_ref().ok().map(|(_, hash)| *hash);
        let is_another = tried.is_some() && state.tried != tried;
        if is_another || state.backoff.wait(state.began.elapsed()).is_none() {
            state.tried = tried;
            match template.and_then(|(template, hash)| self.apply(state, &seen, &template, hash)) {
                Ok(was_reloaded) => {
                    state.trouble = None;
                    if was_reloaded {
                        seen = self.look()?;
                        state.learn(&seen);
                        self.settle(state, &seen);
                        state.trouble = state.file.record.differs(&seen).then(|| self.missed());
                    }
                    match state.trouble {
                        // Another reload would change nothing.
                        Some(_) => state.backoff.failed(state.began.elapsed(), None),
                        None => state.backoff.worked(),
                    }
                }
                Err(why) => {
                    state.backoff.failed(state.began.elapsed(), None);
                    state.trouble = Some(why);
                }
            }
        }
        state.file.save().map_err(|cause| cause.to_string())?;
        Ok(state.members(seen))
    }

    fn troubles(&self) -> Vec<String> {
        let state = self.state.borrow();
        state.trouble.iter().chain(&state.untold).cloned().collect()
    }

    fn admit(&self, server: &ServerName, address: SocketAddr) -> Result<(), String> {
        let mut state = self.state.borrow_mut();
        let new = Listed::new(address, Standing::New);
        let listed = state.file.record.servers.entry(server.to_string()).or_insert(new);
        listed.address = address;
        Ok(())
    }

    fn relocate(&self, server: &ServerName, address: SocketAddr) -> Result<(), String> {
        self.change(server, |listed| *listed = Listed::new(address, Standing::New))?;
        // Where it is not possible, it is reloaded.
        let _ = self.haproxy.relocate(server, address);
        Ok(())
    }

    fn drain(&self, server: &ServerName) -> Result<(), String> {
        self.change(server, |listed| {
            listed.standing = Standing::Drain;
            listed.to_begin = false;
        })?;
        unless_unknown(self.haproxy.drain(server))
    }

    fn recall(&self, server: &ServerName) -> Result<(), String> {
        let was_begun = self.haproxy.states()?.was_begun(server.as_str());
        self.change(server, |listed| {
            listed.standing = if was_begun { Standing::Ready } else { Standing::New };
        })?;
        unless_unknown(self.haproxy.recall(server))
    }

    fn remove(&self, server: &ServerName, force: bool) -> Result<(), String> {
        let told = self.haproxy.take_out(server, force);
        unless_unknown(told)?;
        let mut state = self.state.borrow_mut();
        state.file.record.servers.remove(server.as_str());
        state.file.save().map_err(|cause| cause.to_string())
    }
}

impl Kept {
    /// What a look has shown.
    fn learn(&mut self, seen: &Seen) {
        let record = &mut self.file.record;
        if std::mem::take(&mut self.adopts) {
            for member in &seen.members {
                let Some(address) = member.address else { continue };
                let standing = match member.health {
                    _ if seen.states.is_out(member.server.as_str()) => Standing::Drain,
                    Health::Up(_) => Standing::Ready,
                    _ => Standing::New,
                };
                record.servers.insert(member.server.to_string(), Listed::new(address, standing));
            }
        }
        let is_new = record.process != Some(seen.process);
        let known = self.known.replace(seen.members.iter().map(|member| member.server.to_string()).collect());
        if is_new {
            let known = known.unwrap_or_else(|| record.servers.keys().cloned().collect());
            record.follow(seen.process, known);
        }
        record.tidy();
        for member in &seen.members {
            let Some(listed) = record.servers.get_mut(member.server.as_str()) else { continue };
            let is_out = seen.states.is_out(member.server.as_str());
            if is_new {
                listed.drained_at_start = listed.standing == Standing::Drain;
                listed.to_begin = listed.standing != Standing::Drain;
            }
            listed.to_begin &= is_out;
            if listed.standing == Standing::New && matches!(member.health, Health::Up(_)) {
                listed.standing = Standing::Ready;
            }
        }
    }

    /// The servers that HAProxy has and should have.
    fn members(&self, seen: Seen) -> Vec<Member> {
        let record = &self.file.record;
        let member = |mut member: Member| {
            let name = member.server.as_str();
            let listed = record.servers.get(name)?;
            member.draining =
                listed.standing == Standing::Drain || seen.states.is_out(name) && !listed.to_begin;
            if member.draining {
                member.active += record.earlier_with(name);
            }
            if listed.to_begin {
                member.health = Health::Down;
            }
            Some(member)
        };
        seen.members.into_iter().filter_map(member).collect()
    }
}

impl Record {
    /// Whether HAProxy has other servers than it should, or elsewhere, or has read that one of them gets nothing which should now.
    fn differs(&self, seen: &Seen) -> bool {
        let is_as_listed = |member: &Member| {
            let listed = self.servers.get(member.server.as_str());
            listed.is_some_and(|listed| member.address == Some(listed.address))
        };
        self.servers.len() != seen.members.len()
            || !seen.members.iter().all(is_as_listed)
            || self
                .servers
                .values()
                .any(|listed| listed.drained_at_start && listed.standing != Standing::Drain)
    }
}

/// What the template is filled in with. Those that are not `fit` begin in maintenance.
fn entries<'e>(record: &'e Record, options: &'e str, fit: impl Fn(&str) -> bool) -> Vec<Entry<'e>> {
    let entry = |(name, listed): (&'e String, &'e Listed)| Entry {
        name,
        address: listed.address,
        options,
        state: match listed.standing {
            Standing::Drain => State::Drain,
            Standing::Ready if fit(name) => State::Ready,
            Standing::Ready | Standing::New => State::Maintenance,
        },
    };
    record.servers.iter().map(entry).collect()
}

/// The template in a file, and by what it is known again.
fn read(file: &Path) -> Result<(Template, u64), String> {
    let named = |why: String| format!("{}: {why}", file.display());
    let text = fs::read_to_string(file).map_err(|cause| named(cause.to_string()))?;
    Ok((Template::parse(&text).map_err(named)?, hash(&text)))
}

/// For comparison within one version of Weir: with the next one, HAProxy may be reloaded once more.
fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(".");
    path.push(ending);
    path.into()
}

/// A server that HAProxy does not have yet cannot be told anything.
fn unless_unknown(told: Result<(), String>) -> Result<(), String> {
    told.or_else(|why| if why.contains("No such server") { Ok(()) } else { Err(why) })
}
