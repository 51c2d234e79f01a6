//! Tests of the control socket over real sockets.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_admin::{BindError, ClientError, ControlClient, ControlSocket};
use weir_control::{AdminState, Answer, Code, Command, Reply, Right, What};
use weir_model::Name;

use crate::common::Fake;

const PATIENCE: Duration = Duration::from_secs(20);

/// A control socket with a fake handler. Stops when dropped.
struct Running {
    path: PathBuf,
    handler: Arc<Fake>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    _directory: tempfile::TempDir,
}

fn start(right: Right) -> Running {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("control.sock");
    let socket = ControlSocket::bind(&path, 0o600).unwrap();
    let handler = Arc::new(Fake::default());
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let served = Arc::clone(&handler);
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            tokio::select! {
                ended = socket.serve(served, right) => ended.unwrap(),
                _ = stopped => {}
            }
        });
    });
    Running { path, handler, stop: Some(stop), thread: Some(thread), _directory: directory }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Connects a client that can send arbitrary bytes.
fn raw(path: &Path) -> BufReader<UnixStream> {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    BufReader::new(stream)
}

fn reply(caller: &mut BufReader<UnixStream>) -> Reply {
    let mut line = String::new();
    caller.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|cause| panic!("{line:?}: {cause}"))
}

fn code(reply: Reply) -> Code {
    match reply {
        Reply::Error(refusal) => refusal.code,
        Reply::Ok(answer) => panic!("{answer:?}"),
    }
}

fn drain() -> Command {
    let name = |text: &str| Name::new(text).unwrap();
    Command::ServerState { pool: name("web"), server: name("w1"), state: AdminState::Drain }
}

#[test]
fn a_command_is_handed_on_and_its_reply_comes_back() {
    let running = start(Right::Admin);
    let mut client = ControlClient::connect(&running.path).unwrap();
    assert_eq!(client.send(&drain()).unwrap(), Answer::Done { changed: true, notes: Vec::new() });
    client.send(&Command::Reload).unwrap();
    assert_eq!(*running.handler.commands.lock().unwrap(), [drain(), Command::Reload]);
}

#[test]
fn parts_of_the_snapshot_are_told_without_asking_the_handler() {
    let running = start(Right::Read);
    let mut client = ControlClient::connect(&running.path).unwrap();
    assert_eq!(client.snapshot().unwrap().pools.len(), 2);
    let show =
        |what, pool: Option<&str>| Command::Show { what, pool: pool.map(|pool| Name::new(pool).unwrap()) };
    let Answer::Snapshot(mail) = client.send(&show(What::Pools, Some("mail"))).unwrap() else { panic!() };
    assert_eq!((mail.pools.len(), mail.pools[0].name.as_str(), mail.listeners.len()), (1, "mail", 0));
    let refused = client.send(&show(What::Pools, Some("nope"))).unwrap_err();
    assert_eq!(refused.to_string(), "there is no pool nope");
    assert_eq!(*running.handler.commands.lock().unwrap(), []);
    client.send(&show(What::Runtime, None)).unwrap();
    assert_eq!(*running.handler.commands.lock().unwrap(), [show(What::Runtime, None)]);
}

#[test]
fn a_caller_without_the_right_is_refused_before_the_handler_hears_of_it() {
    let running = start(Right::Operate);
    let mut client = ControlClient::connect(&running.path).unwrap();
    let Err(ClientError::Refused(refusal)) = client.send(&Command::Reload) else { panic!() };
    assert_eq!(refusal.code, Code::NotPermitted);
    client.send(&drain()).unwrap();
    assert_eq!(*running.handler.commands.lock().unwrap(), [drain()]);
}

#[test]
fn commands_sent_at_once_are_answered_in_order() {
    let running = start(Right::Admin);
    let mut caller = raw(&running.path);
    let drain = serde_json::to_string(&drain()).unwrap();
    caller.get_mut().write_all(format!("{drain}\n\n  \nnonsense\n\"reload\"\n").as_bytes()).unwrap();
    assert_eq!(reply(&mut caller), Reply::done());
    assert_eq!(code(reply(&mut caller)), Code::BadCommand);
    assert_eq!(reply(&mut caller), Reply::done());
}

#[test]
fn what_is_not_a_command_is_refused_and_the_caller_may_go_on() {
    let running = start(Right::Admin);
    let mut caller = raw(&running.path);
    let wrong: [&[u8]; 5] = [
        b"{}",
        b"{\"show\":",
        b"\xff\xfe",
        b"{\"server-weight\":{\"pool\":\"web\",\"server\":\"w1\",\"weight\":1000}}",
        b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    ];
    for line in wrong {
        caller.get_mut().write_all(line).unwrap();
        caller.get_mut().write_all(b"\n").unwrap();
        assert_eq!(code(reply(&mut caller)), Code::BadCommand, "{}", line.escape_ascii());
    }
    caller.get_mut().write_all(b"\"reload\"\n").unwrap();
    assert_eq!(reply(&mut caller), Reply::done());
}

#[test]
fn a_line_without_end_is_refused_and_the_connection_closed() {
    let running = start(Right::Admin);
    let mut caller = raw(&running.path);
    // The server stops reading before the end.
    let _ = caller.get_mut().write_all(&vec![b'x'; 1 << 20]);
    assert_eq!(code(reply(&mut caller)), Code::TooLong);
    let mut rest = Vec::new();
    // A reset, because not everything was read, is an end, too.
    let _ = caller.read_until(b'\n', &mut rest);
    assert!(rest.is_empty());
}

#[test]
fn half_a_command_does_nothing() {
    let running = start(Right::Admin);
    let caller = raw(&running.path);
    caller.get_ref().write_all(b"\"reload\"").unwrap();
    caller.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
    let mut rest = Vec::new();
    let mut caller = caller;
    caller.read_until(b'\n', &mut rest).unwrap();
    assert!(rest.is_empty());
    assert_eq!(*running.handler.commands.lock().unwrap(), []);
}

#[test]
fn callers_do_not_wait_for_each_other_and_too_many_are_told_so() {
    let running = start(Right::Admin);
    let silent: Vec<_> = (0..63).map(|_| raw(&running.path)).collect();
    let mut last = raw(&running.path);
    last.get_mut().write_all(b"\"reload\"\n").unwrap();
    assert_eq!(reply(&mut last), Reply::done());
    assert_eq!(code(reply(&mut raw(&running.path))), Code::InUse);
    drop(silent);
    let deadline = Instant::now() + PATIENCE;
    while ControlClient::connect(&running.path).unwrap().send(&Command::Reload).is_err() {
        assert!(Instant::now() < deadline);
    }
}

#[test]
fn only_the_owner_may_open_it_and_it_goes_with_its_process() {
    let running = start(Right::Admin);
    let path = running.path.clone();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let others: Vec<_> =
        std::fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(others, [path.as_path()], "nothing else is left in the directory");
    drop(running);
    assert!(!path.exists());
}

#[test]
fn a_dead_socket_is_replaced_and_a_living_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("control.sock");
    drop(UnixListener::bind(&path).unwrap());
    let first = ControlSocket::bind(&path, 0o660).unwrap();
    assert!(matches!(ControlSocket::bind(&path, 0o660), Err(BindError::Answered(named)) if named == path));
    drop(first);
    ControlSocket::bind(&path, 0o660).unwrap();
}

#[test]
fn of_many_that_start_at_once_one_gets_the_socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("control.sock");
    for _ in 0..20 {
        drop(UnixListener::bind(&path).unwrap());
        let starters: Vec<_> = (0..4)
            .map(|_| {
                let path = path.clone();
                std::thread::spawn(move || ControlSocket::bind(&path, 0o600))
            })
            .collect();
        let bound: Vec<_> = starters.into_iter().map(|starter| starter.join().unwrap()).collect();
        let sockets: Vec<_> = bound.iter().filter_map(|bound| bound.as_ref().ok()).collect();
        assert_eq!(sockets.len(), 1, "{bound:?}");
        UnixStream::connect(&path).unwrap();
    }
}

#[test]
fn a_file_that_is_no_socket_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("control.sock");
    std::fs::write(&path, "precious").unwrap();
    let error = ControlSocket::bind(&path, 0o600).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("control socket {}: there is a file that is no socket", path.display())
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn a_missing_directory_is_made_but_only_one() {
    let directory = tempfile::tempdir().unwrap();
    ControlSocket::bind(&directory.path().join("run/control.sock"), 0o600).unwrap();
    let error =
        ControlSocket::bind(&directory.path().join("a/b/control.sock"), 0o600).unwrap_err().to_string();
    assert!(error.ends_with("a/b/control.sock: No such file or directory (os error 2)"), "{error}");
}

#[test]
fn a_client_says_what_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("control.sock");
    let error = ControlClient::connect(&path).unwrap_err().to_string();
    assert!(error.ends_with("No such file or directory (os error 2) (is Weir running?)"), "{error}");
    let listener = UnixListener::bind(&path).unwrap();
    let answers = std::thread::spawn(move || {
        for answer in ["hello\n", "{\"ok\":{\"done\":{\"changed\":true"] {
            let (mut stream, _) = listener.accept().unwrap();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut String::new()).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let send = || ControlClient::connect(&path).unwrap().send(&Command::Reload).unwrap_err().to_string();
    let not_a_reply = send();
    assert!(not_a_reply.contains(": not a reply: "), "{not_a_reply}");
    let cut = send();
    assert!(cut.ends_with(": the connection was closed before the reply"), "{cut}");
    answers.join().unwrap();
}
