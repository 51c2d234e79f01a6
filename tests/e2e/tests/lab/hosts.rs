//! Tests of `weir lab` on other machines. Debian's sshd on this machine stands for two of them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
use weir_e2e::Lab;
use weir_testkit::{PATIENCE, wait_until};

const SCENARIO: &str = "rivals = [\"weir\", \"haproxy\"]\nrepeats = 2\nwarm-up = \"20ms\"\npause = \"0ms\"\nwatch = \"20ms\"\n\
    judge = [\"mean\", \"cpu\"]\n[topology]\nkind = \"ssh\"\nbalancer = \"first\"\nservers = \"second\"\nssh-config = \"ssh.config\"\n\
    [servers]\ncount = 2\n[[test]]\nname = \"GET\"\nconnections = 2\nduration = \"300ms\"\nsize = \"1KiB\"\n";

/// An sshd for the user of the test, with its own keys; it ends with the test.
struct Sshd {
    /// Allows one lab at a time: each one copies the large program, and together they could fill the disk.
    _turn: MutexGuard<'static, ()>,
    process: Child,
    /// Directory for the copied programs.
    temporary: PathBuf,
}

/// Creates a lab that copies a small program to the machines.
fn lab(scenario: &str) -> Lab {
    let mut lab = Lab::new(scenario);
    lab.strip();
    lab
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|cause| panic!("{program}: {cause}: run `scripts/setup test-long`"));
    assert!(output.status.success(), "{program}: {output:?}");
}

impl Sshd {
    /// Starts sshd. The file `ssh.config` in the directory names it `first` and `second`, and
    /// `stranger` with a key that it rejects.
    fn start(directory: &Path) -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let path = |name: &str| directory.join(name).display().to_string();
        for key in ["host", "user", "other"] {
            run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &path(key)]);
        }
        fs::copy(path("user.pub"), path("authorized")).unwrap();
        let temporary = directory.join("temporary");
        fs::create_dir(&temporary).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host = fs::read_to_string(path("host.pub")).unwrap();
        fs::write(path("known"), format!("[127.0.0.1]:{port} {host}")).unwrap();
        let server = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nPermitRootLogin yes\nMaxStartups 50\nSetEnv TMPDIR={}\n",
            path("host"),
            path("authorized"),
            temporary.display()
        );
        fs::write(path("sshd.config"), server).unwrap();
        let user = Command::new("id").arg("-un").output().unwrap();
        let user = String::from_utf8(user.stdout).unwrap();
        let known = format!(
            "  HostName 127.0.0.1\n  Port {port}\n  User {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  StrictHostKeyChecking yes\n",
            user.trim(),
            path("known")
        );
        let client = format!(
            "Host first second\n  IdentityFile {}\n{known}Host stranger\n  IdentityFile {}\n{known}",
            path("user"),
            path("other")
        );
        fs::write(path("ssh.config"), client).unwrap();
        // Directory that sshd needs for its unprivileged process if it runs as root; usually the system
        // service creates it.
        let _ = fs::create_dir_all("/run/sshd");
        let program = ["/usr/sbin/sshd", "/usr/bin/sshd"].into_iter().find(|path| Path::new(path).exists());
        let program = program.expect("sshd is not installed: run `scripts/setup test-long`");
        let mut command = Command::new(program);
        command.args(["-D", "-E", &path("sshd.log"), "-f", &path("sshd.config")]);
        let process = command.stdin(Stdio::null()).spawn().unwrap();
        let sshd = Self { _turn: turn, process, temporary };
        wait_until("sshd", PATIENCE, || TcpStream::connect(("127.0.0.1", port)).is_ok());
        sshd
    }

    /// Stops one of the copied agents, so that its machine no longer responds.
    fn freeze(&self) -> Frozen {
        let place = self.temporary.display().to_string();
        let is_agent = |entry: &fs::DirEntry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            line.starts_with(&place) && line.ends_with("/weir lab agent ")
        };
        let agent = fs::read_dir("/proc").unwrap().flatten().find(is_agent).expect("an agent");
        let pid = Pid::from_raw(agent.file_name().to_str().unwrap().parse().unwrap()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        Frozen(pid)
    }

    /// Returns true if no copied program and no process of one is left.
    fn is_left_alone(&self) -> bool {
        let is_empty = fs::read_dir(&self.temporary).unwrap().next().is_none();
        let place = self.temporary.display().to_string();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let runs = |entry: fs::DirEntry| {
            let program = fs::read_link(entry.path().join("exe")).unwrap_or_default();
            program.display().to_string().starts_with(&place)
        };
        is_empty && !processes.into_iter().any(runs)
    }
}

/// A process that is stopped until this value is dropped.
struct Frozen(Pid);

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn balancers_and_servers_run_on_their_machines_and_nothing_is_left_there() {
    let lab = lab(SCENARIO);
    let sshd = Sshd::start(lab.directory());
    let said = lab.run(&["run", "tiny.toml", "--csv", "runs.csv", "--markdown", "report.md"]);
    // Runs that a busy machine makes invalid are accepted.
    assert!(matches!(said.code(), Some(0 | 1)), "{}", said.text());
    let runs = lab.csv("runs.csv");
    assert_eq!(runs.len(), 4, "{}", said.text());
    for run in &runs {
        assert!(run.number("sent") > 10.0 && run.number("succeeded") > 10.0, "{run:?}");
    }
    let report = lab.read("report.md");
    assert!(report.contains("other machines, reached over SSH: first, second"), "{report}");
    for fact in ["first: kernel", "second: kernel", "second: processors"] {
        assert!(report.contains(fact), "{fact}: {report}");
    }
    // The agent ends with the connection, and its shell then deletes the program.
    wait_until("the end of the agents", PATIENCE, || sshd.is_left_alone());
}

#[test]
fn a_lab_that_is_killed_leaves_nothing_on_other_machines() {
    let lab = lab(&SCENARIO.replace(", \"haproxy\"", ""));
    let sshd = Sshd::start(lab.directory());
    let mut running = lab.start(&["run", "tiny.toml"], 1);
    assert!(!sshd.is_left_alone());
    running.kill().unwrap();
    running.wait().unwrap();
    wait_until("the end of the agents", PATIENCE, || sshd.is_left_alone());
}

#[test]
fn a_machine_that_says_nothing_any_more_is_named_and_the_lab_ends() {
    let scenario = SCENARIO.replace(", \"haproxy\"", "").replace("repeats = 2", "repeats = 500");
    let lab = lab(&scenario.replace("ssh-config =", "timeout = \"10s\"\nssh-config ="));
    let sshd = Sshd::start(lab.directory());
    let mut command = lab.command(&["run", "tiny.toml"]);
    let mut running = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("[1/")), "it ended before its first run");
    let frozen = sshd.freeze();
    let said: Vec<String> = lines.collect();
    let said = said.join("\n");
    assert_eq!(running.wait().unwrap().code(), Some(2), "{said}");
    let is_named =
        ["first", "second"].iter().any(|name| said.contains(&format!("{name}: no answer within 10s")));
    assert!(is_named, "{said}");
    // When the agent continues, it finds the connection closed.
    drop(frozen);
    wait_until("the end of the agents", PATIENCE, || sshd.is_left_alone());
}

#[test]
fn a_machine_that_lets_ssh_in_and_says_nothing_is_named_and_the_lab_ends() {
    let scenario = SCENARIO.replace("ssh-config =", "timeout = \"2s\"\nssh-config =");
    let lab = Lab::new(&scenario);
    // The kernel accepts the connection, and ssh waits for the server's first bytes.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let config = format!("Host first second\n  HostName 127.0.0.1\n  Port {port}\n");
    fs::write(lab.path("ssh.config"), config).unwrap();
    let said = lab.run(&["run", "tiny.toml"]);
    assert_eq!(said.code(), Some(2), "{}", said.text());
    let is_named = said.text().contains("first: no answer within 2s") && said.text().contains("tiny.toml:");
    assert!(is_named, "{}", said.text());
    drop(silent);
}

#[test]
fn what_needs_one_machine_is_refused_with_its_line_before_any_machine_is_asked() {
    let rival = |text: &str| {
        SCENARIO.replace("rivals = [\"weir\", \"haproxy\"]", &format!("rivals = [\n\"haproxy\",\n{text},\n]"))
    };
    let storage = |text: &str| rival(text).replace("[servers]\n", "[servers]\nkind = \"storage\"\n");
    let pair = format!("{SCENARIO}[balancer]\npair = {{ interval = \"1s\" }}\n");
    for (scenario, at, wanted) in [
        (
            rival("{ product = \"weir\", fleet = { max = 2, capacity = 10 } }"),
            "fleet",
            "weir has a fleet: not with",
        ),
        (
            storage("{ product = \"weir\", way = \"offloaded\" }"),
            "offloaded",
            "sends files in the servers' place: not with",
        ),
        (
            storage("{ product = \"weir\", way = \"redirected\" }"),
            "redirected",
            "shares a secret with the servers: not with",
        ),
        (
            rival("\"nftables\""),
            "nftables",
            "nftables works on packets: [topology] needs kind = \"namespaces\"",
        ),
        (rival("\"lvs\""), "lvs", "lvs works on packets: [topology] needs kind = \"namespaces\""),
        (
            pair,
            "interval",
            "a pair has a network for each of the two: [topology] needs kind = \"namespaces\"",
        ),
    ] {
        let line = scenario.lines().position(|line| line.contains(at)).unwrap() + 1;
        // There is no ssh.config and no machine to contact.
        let said = Lab::new(&scenario).run(&["run", "tiny.toml"]);
        assert_eq!(said.code(), Some(2), "{}", said.text());
        let is_told = said.text().contains(wanted) && said.text().contains(&format!("tiny.toml:{line}"));
        assert!(is_told && !said.text().contains("ssh.config"), "{at}, line {line}: {}", said.text());
    }
}

#[test]
fn what_is_wrong_with_a_machine_is_said_with_its_name_and_the_line() {
    let lab = lab(&SCENARIO.replace("\"second\"", "\"stranger\""));
    let sshd = Sshd::start(lab.directory());
    let said = lab.run(&["run", "tiny.toml"]);
    assert_eq!(said.code(), Some(2), "{}", said.text());
    assert!(
        said.text().contains("stranger: ") && said.text().contains("Permission denied"),
        "{}",
        said.text()
    );
    assert!(said.text().contains("tiny.toml:"), "{}", said.text());
    // The agent on the machine that could be reached must end, too.
    wait_until("the end of the agents", PATIENCE, || sshd.is_left_alone());
    let missing = "rivals = { product = \"haproxy\", program = \"/no/such/haproxy\" }";
    lab.write(&SCENARIO.replace("rivals = [\"weir\", \"haproxy\"]", missing));
    // Another scenario needs another results file.
    let said = lab.run(&["run", "tiny.toml", "--output", "other.sqlite"]);
    assert_eq!(said.code(), Some(2), "{}", said.text());
    assert!(said.text().contains("first: /no/such/haproxy"), "{}", said.text());
}
