//! The external interfaces of the process: the control socket, and the admin pages over HTTP.

use std::net::IpAddr;
use std::sync::Arc;

use weir_admin::{AdminHttp, ControlSocket, Door, Handler, LoggingIn, Login, LoginOutcome};
use weir_config::Plan;
use weir_config::plan::AdminPlan;
use weir_control::Right;
use weir_gateway::{LoginRefusal, PasswordLogin};
use weir_net::tls::ServerTls;
use weir_proxy::control::{EventLog, follow_files};

use super::handler::ProcessHandler;

/// File mode of the control socket: only the owner may send commands.
const CONTROL_SOCKET_MODE: u32 = 0o600;

/// Opens the control socket and the admin pages. Blocks on disk I/O.
pub(super) fn serve(plan: &Plan, handler: &Arc<ProcessHandler>) -> Result<(), String> {
    if let Some(path) = &plan.process.control {
        let socket = ControlSocket::bind(path, CONTROL_SOCKET_MODE).map_err(|error| error.to_string())?;
        let handler: Arc<dyn Handler> = Arc::clone(handler) as _;
        tokio::task::spawn_local(async move {
            if let Err(error) = socket.serve(handler, Right::Admin).await {
                eprintln!("weir: control socket: {error}");
            }
        });
    }
    if let Some(admin) = &plan.admin {
        let door = door(admin).map_err(|error| format!("admin: {error}"))?;
        let scheme = if door.tls.is_some() { "https" } else { "http" };
        let http = AdminHttp::bind(&admin.bind).map_err(|error| error.to_string())?;
        for address in http.local_addresses() {
            eprintln!("admin: {scheme}://{address}/");
        }
        let handler: Arc<dyn Handler> = Arc::clone(handler) as _;
        tokio::task::spawn_local(async move {
            if let Err(error) = http.serve(handler, door).await {
                eprintln!("weir: admin: {error}");
            }
        });
    }
    Ok(())
}

fn door(admin: &AdminPlan) -> Result<Door, String> {
    let mut door = Door { allow: admin.allow.clone(), hosts: admin.hosts.clone(), ..Door::default() };
    if let Some(file) = &admin.htpasswd {
        door.login = Some(Arc::new(Users(PasswordLogin::read(file)?)));
    }
    if let Some(tls) = &admin.tls {
        let tls = ServerTls::load(tls, &[b"http/1.1"]).map_err(|error| format!("tls: {error}"))?;
        tokio::task::spawn_local(follow_files(EventLog::stderr(), "admin".to_owned(), Arc::clone(&tls)));
        door.tls = Some(tls);
    }
    Ok(door)
}

/// Users of the admin pages.
#[derive(Debug)]
struct Users(PasswordLogin);

impl Login for Users {
    fn check<'a>(&'a self, client: Option<IpAddr>, authorization: Option<&'a [u8]>) -> LoggingIn<'a> {
        Box::pin(async move {
            match self.0.check(client, authorization).await {
                Ok(_) => LoginOutcome::Welcome,
                Err(LoginRefusal::Wrong) => LoginOutcome::Wrong,
                Err(LoginRefusal::Later(seconds)) => LoginOutcome::Later(seconds),
            }
        })
    }
}
