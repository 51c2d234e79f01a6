//! Machines managed by a program of the operator, so that a script can connect any cloud.
//! `docs/reference/fleet-exec.md` describes its requests and responses.

mod contract;
mod lenient;
mod run;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use self::contract::{Request, Response, Told, Verb};
use crate::{Answer, Failure, FailureKind, Machine, MachineId, Order, Provider, program};

/// Settings of the program.
#[derive(Debug, Clone)]
pub struct ExecSettings {
    /// Name of the fleet; part of each request.
    pub fleet: String,
    /// Program and arguments; the verb follows as the last argument.
    pub command: Vec<String>,
    /// Additional environment variables.
    pub environment: Vec<(String, String)>,
    /// Working directory; `None` = that of Weir.
    pub working_directory: Option<PathBuf>,
    /// Maximum duration of a call. Then the program gets SIGTERM, and SIGKILL two seconds later.
    pub timeout: Duration,
    /// Time for which a machine may be missing from the list after its creation was aborted.
    pub settling: Duration,
}

/// Checks that the program exists and is executable.
pub(crate) fn find_program(settings: &ExecSettings) -> Result<(), String> {
    let name = settings.command.first().ok_or("the command is empty")?;
    program::find(name, settings.working_directory.as_deref().unwrap_or(Path::new("."))).map(drop)
}

/// Machines from a program.
#[derive(Debug)]
pub struct ExecProvider {
    settings: ExecSettings,
    /// Fields of the latest list that violate the contract.
    remarks: RefCell<Vec<String>>,
}

/// Maximum number of remarks in an error message.
const REMARKS_SHOWN: usize = 8;

impl ExecProvider {
    /// Creates a provider; no program runs yet.
    pub fn new(settings: ExecSettings) -> Self {
        Self { settings, remarks: RefCell::default() }
    }

    async fn call(&self, verb: Verb<'_>) -> Result<Response, Failure> {
        let request = Request::new(&self.settings.fleet, verb);
        let answered = run::run(&self.settings, &request).await;
        answered.map_err(|failure| failure.of(format_args!("{} {}", self.program(), request.name())))
    }

    /// Runs `list`; `None` = the response has no machines.
    async fn list(&self) -> Result<Told<Option<Vec<Machine>>>, Failure> {
        self.call(Verb::List)
            .await?
            .machines()
            .map_err(|why| self.misunderstood(FailureKind::Transient, "list", &why))
    }

    fn misunderstood(&self, kind: FailureKind, verb: &str, why: &str) -> Failure {
        Failure::new(kind, format!("{} {verb}: the answer is not understood: {why}", self.program()))
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
            let Told { found, remarks } = self.list().await?;
            self.remarks.replace(lenient::one_of_each(remarks));
            found.ok_or_else(|| self.missing("machines"))
        })
    }

    fn create<'a>(&'a self, order: Order<'a>) -> Answer<'a, Machine> {
        Box::pin(async move {
            let verb = Verb::Create { token: order.token, again: order.again };
            let told = self.call(verb).await?.machine();
            let told = told.map_err(|why| self.misunderstood(FailureKind::Uncertain, "create", &why))?;
            let mut machine = told.ok_or_else(|| self.missing("machine"))?;
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
        Box::pin(async { Ok(self.call(Verb::Room).await?.room().found) })
    }

    fn verify(&self) -> Answer<'_, ()> {
        Box::pin(self.act(Verb::Verify))
    }

    fn proofread(&self) -> Answer<'_, ()> {
        Box::pin(async {
            // A running fleet accepts these fields, but a check reports them as errors.
            let mut remarks = self.list().await?.remarks;
            // `room` is optional.
            if let Ok(response) = self.call(Verb::Room).await {
                remarks.extend(response.room().remarks);
            }
            if remarks.is_empty() {
                return Ok(());
            }
            let mut shown: Vec<&str> =
                remarks.iter().take(REMARKS_SHOWN).map(|remark| remark.text.as_str()).collect();
            let more = format!("and {} more", remarks.len().saturating_sub(REMARKS_SHOWN));
            if remarks.len() > REMARKS_SHOWN {
                shown.push(&more);
            }
            let message = format!("{}: {}", self.program(), shown.join("; "));
            Err(Failure::new(FailureKind::Permanent, message))
        })
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.borrow().clone()
    }

    fn settling(&self) -> Duration {
        self.settings.settling
    }
}
