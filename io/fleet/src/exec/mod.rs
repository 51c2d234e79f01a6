//! Machines that a program of the operator's looks after: any cloud can be reached by a script. What it is told and what it has to
//! answer is written in `docs/reference/fleet-exec.md`.

mod contract;
mod run;

use std::path::{Path, PathBuf};
use std::time::Duration;

use self::contract::{Request, Response, Verb};
use crate::{Answer, Failure, FailureKind, Machine, MachineId, Order, Provider, program};

/// The program and what it may take.
#[derive(Debug, Clone)]
pub struct ExecSettings {
    /// The fleet's name; the program gets it with each request.
    pub fleet: String,
    /// Program and arguments; the verb is added as the last one.
    pub command: Vec<String>,
    /// Added to the environment.
    pub environment: Vec<(String, String)>,
    /// Where it runs; `None` = where we do.
    pub working_directory: Option<PathBuf>,
    /// A call that takes longer is cut off: SIGTERM, and SIGKILL two seconds later.
    pub timeout: Duration,
    /// A machine whose creation was cut off may stay out of the list for so long.
    pub settling: Duration,
}

/// Whether the program of the command is there and may be run.
pub(crate) fn find_program(settings: &ExecSettings) -> Result<(), String> {
    let name = settings.command.first().ok_or("the command is empty")?;
    program::find(name, settings.working_directory.as_deref().unwrap_or(Path::new("."))).map(drop)
}

/// Machines from a program.
#[derive(Debug)]
pub struct ExecProvider {
    settings: ExecSettings,
}

impl ExecProvider {
    /// Nothing is run yet.
    pub fn new(settings: ExecSettings) -> Self {
        Self { settings }
    }

    async fn call(&self, verb: Verb<'_>) -> Result<Response, Failure> {
        let request = Request::new(&self.settings.fleet, verb);
        let answered = run::run(&self.settings, &request).await;
        answered.map_err(|failure| failure.of(format_args!("{} {}", self.program(), request.name())))
    }

    async fn act(&self, verb: Verb<'_>) -> Result<(), Failure> {
        self.call(verb).await.map(drop)
    }

    fn program(&self) -> &str {
        self.settings.command.first().map_or("(no command)", String::as_str)
    }

    fn missing(&self, what: &str) -> Failure {
        let message = format!("{}: the answer has no {what:?}", self.program());
        Failure::new(FailureKind::Uncertain, message)
    }
}

impl Provider for ExecProvider {
    fn machines(&self) -> Answer<'_, Vec<Machine>> {
        Box::pin(async {
            let response = self.call(Verb::List).await?;
            let machines = response.machines.ok_or_else(|| self.missing("machines"))?;
            Ok(machines.into_iter().map(Machine::from).collect())
        })
    }

    fn create<'a>(&'a self, order: Order<'a>) -> Answer<'a, Machine> {
        Box::pin(async move {
            let verb = Verb::Create { token: order.token, again: order.again };
            let machine = self.call(verb).await?.machine.ok_or_else(|| self.missing("machine"))?;
            let mut machine = Machine::from(machine);
            machine.token.get_or_insert_with(|| order.token.clone());
            Ok(machine)
        })
    }

    fn start<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(self.act(Verb::Start { id }))
    }

    fn stop<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(self.act(Verb::Stop { id }))
    }

    fn delete<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(async move {
            match self.act(Verb::Delete { id }).await {
                Err(failure) if failure.kind == FailureKind::NotFound => Ok(()),
                result => result,
            }
        })
    }

    fn room(&self) -> Answer<'_, Option<u32>> {
        Box::pin(async { Ok(self.call(Verb::Room).await?.room) })
    }

    fn verify(&self) -> Answer<'_, ()> {
        Box::pin(self.act(Verb::Verify))
    }

    fn settling(&self) -> Duration {
        self.settings.settling
    }
}
