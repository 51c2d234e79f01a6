//! Tests of the script that runs the LVS guest (`make lab-lvs`), with a fake emulator. They check the guest's
//! input, its results, and the cleanup. A real guest needs a kernel and takes minutes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_testkit::{Child, PATIENCE, Signal, TempDir};

/// Fake emulator that stores its input, and runs the commands of the file `act` on the disk.
const QEMU: &str = r#"#!/bin/sh
here=$(dirname "$0")/..
printf '%s\n' "$@" >"$here/arguments"
for argument; do
    case $before in
    -initrd) cp "$argument" "$here/initrd" ;;
    -drive) disk=${argument#file=}; disk=${disk%%,*} ;;
    esac
    before=$argument
done
. "$here/act"
"#;

const PROGRAMS: [&str; 9] = ["busybox", "ip", "tc", "unshare", "chrt", "nft", "ipvsadm", "haproxy", "nginx"];
const EVERYBODY: &str = "{\"left_out\": []}";

/// Fake machine with every required program and a kernel.
struct Host {
    directory: TempDir,
}

impl Host {
    /// Creates the machine; `None` = the test cannot run here.
    fn new(act: &str) -> Option<Self> {
        if Command::new("python3").arg("--version").output().is_err() {
            weir_testkit::untested("needs python3");
            return None;
        }
        let host = Self { directory: TempDir::new().unwrap() };
        for directory in ["bin", "kernel/boot", "kernel/lib/modules/9.9/net", "results"] {
            fs::create_dir_all(host.path(directory)).unwrap();
        }
        for program in PROGRAMS.into_iter().chain(["weir"]) {
            symlink("/bin/cat", host.path(&format!("bin/{program}"))).unwrap();
        }
        host.write("bin/qemu-system-x86_64", QEMU);
        let runs = fs::Permissions::from_mode(0o755);
        fs::set_permissions(host.path("bin/qemu-system-x86_64"), runs).unwrap();
        host.write("act", act);
        host.write("kernel/boot/vmlinuz-9.9", "a kernel");
        host.write("kernel/lib/modules/9.9/modules.builtin", "kernel/drivers/virtio/virtio_pci.ko\n");
        // The modules that the script requests. One of them needs two others that the script does not
        // request.
        let mut needs = "net/first.ko:\nnet/second.ko: net/first.ko\n".to_owned();
        for name in wanted().filter(|name| name != "virtio_pci") {
            let needed = if name == "ip_vs" { "net/second.ko net/first.ko" } else { "" };
            needs.push_str(&format!("net/{}.ko: {needed}\n", name.replace('_', "-")));
            host.write(&format!("kernel/lib/modules/9.9/net/{}.ko", name.replace('_', "-")), &name);
        }
        for name in ["first", "second"] {
            host.write(&format!("kernel/lib/modules/9.9/net/{name}.ko"), name);
        }
        host.write("kernel/lib/modules/9.9/modules.dep", &needs);
        Some(host)
    }

    /// Sets the files that the guest puts on its disk.
    fn with_results(self, status: &str, json: &str) -> Self {
        for (name, text) in
            [("status", status), ("play", "weir lab run"), ("lvs-quick.md", "# It"), ("lvs-quick.json", json)]
        {
            self.write(&format!("results/{name}"), text);
        }
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|cause| panic!("{name}: {cause}"))
    }

    fn start(&self, more: &[&str]) -> Child {
        let mut command = Command::new("python3");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest/guest.py");
        command.arg("-B").arg(script).args(["--weir", "bin/weir", "--output", "out", "--cache", "cache"]);
        command.args(["--kernel", "kernel"]).args(more).current_dir(self.directory.path());
        let others = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{others}", self.path("bin").display()));
        Child::spawn(command)
    }

    /// Runs the script to its end. Returns the exit status and the output.
    fn run(&self, more: &[&str]) -> (Option<i32>, String) {
        let mut child = self.start(more);
        let status = child.wait(PATIENCE);
        (status.code(), child.output().join("\n"))
    }

    /// Returns the files that remain beside results and kernel.
    fn left(&self) -> Vec<PathBuf> {
        fs::read_dir(self.path("cache")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

/// Returns the requested modules, in order.
fn wanted() -> impl Iterator<Item = String> {
    let text = include_str!("../guest/modules");
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned)
}

/// Returns the mode and content of each file of a cpio archive.
fn unpacked(archive: &[u8]) -> BTreeMap<String, (u32, Vec<u8>)> {
    let (mut files, mut at) = (BTreeMap::new(), 0);
    loop {
        let head = &archive[at..at + 110];
        assert!(head.starts_with(b"070701"), "at {at}");
        let field = |number: usize| {
            let digits = std::str::from_utf8(&head[6 + number * 8..14 + number * 8]).unwrap();
            usize::from_str_radix(digits, 16).unwrap()
        };
        let (mode, size, name_size) = (field(1), field(6), field(11));
        let name = String::from_utf8(archive[at + 110..at + 109 + name_size].to_vec()).unwrap();
        if name == "TRAILER!!!" {
            return files;
        }
        let data = (at + 110 + name_size).next_multiple_of(4);
        files.insert(name, (u32::try_from(mode).unwrap(), archive[data..data + size].to_vec()));
        at = (data + size).next_multiple_of(4);
    }
}

#[test]
fn the_guest_has_programs_with_their_libraries_and_modules_in_the_order_in_which_they_are_loaded() {
    let Some(host) = Host::new("tar -cf \"$disk\" -C \"$here/results\" .") else { return };
    let host = host.with_results("0", EVERYBODY);
    host.write("mine.toml", "title = \"Mine\"\n");
    host.write("results/mine.json", EVERYBODY);
    let (status, said) =
        host.run(&["--scenario", "./mine.toml", "--full", "--shift", "2", "--with", "/bin/sh"]);
    assert_eq!(status, Some(0), "{said}");
    let arguments = host.read("arguments");
    assert!(arguments.contains("-accel\ntcg\n-icount\nshift=2,sleep=off\n"), "{arguments}");
    assert!(arguments.contains("-kernel\nkernel/boot/vmlinuz-9.9\n") && !arguments.contains("kvm"));
    let files = unpacked(&fs::read(host.path("initrd")).unwrap());
    let text = |name: &str| String::from_utf8(files[name].1.clone()).unwrap();
    let cat = fs::read("/bin/cat").unwrap();
    for program in PROGRAMS.into_iter().chain(["weir", "sh"]).filter(|name| *name != "busybox") {
        let (mode, bytes) = &files[&format!("usr/sbin/{program}")];
        assert_eq!(*mode, 0o100_755, "{program}");
        // Debug symbols of Weir may have been removed.
        assert!(*bytes == cat || ["weir", "sh"].contains(&program), "{program}");
    }
    assert_eq!((files["bin/sh"].0, text("bin/sh").as_str()), (0o120_777, "busybox"));
    assert!(files.keys().any(|name| name.contains("/libc.so")), "{:?}", files.keys());
    assert_eq!((files["dev"].0, files["init"].0), (0o040_755, 0o100_755));
    let list: Vec<String> = text("modules/list").lines().map(str::to_owned).collect();
    let place = |name: &str| list.iter().position(|other| other == &format!("{name}.ko")).unwrap();
    assert!(place("first") < place("second") && place("second") < place("ip-vs"), "{list:?}");
    assert!(place("ip-vs") < place("ip-vs-rr") && place("veth") < place("ip-vs"), "{list:?}");
    assert_eq!(list.len(), wanted().count() - 1 + 2, "what is built in is not loaded: {list:?}");
    assert_eq!(text("modules/ip-vs.ko"), "ip_vs");
    assert_eq!(text("lab/mine.toml"), "title = \"Mine\"\n");
    let play = text("lab/play");
    assert!(
        play.starts_with("weir lab run mine.toml --output mine.sqlite ") && !play.contains("quick"),
        "{play}"
    );
}

#[test]
fn results_are_taken_out_and_nothing_else_is_left() {
    let Some(host) = Host::new("echo a verdict; tar -cf \"$disk\" -C \"$here/results\" .") else { return };
    let host = host.with_results("0", EVERYBODY);
    // Directory that a killed run left behind.
    fs::create_dir_all(host.path("cache/work-4000000000-x")).unwrap();
    let (status, said) = host.run(&[]);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("a verdict") && said.contains("results are in out/lvs-quick.*"), "{said}");
    assert_eq!(host.read("out/lvs-quick.md"), "# It");
    assert_eq!(host.read("out/lvs-quick.json"), EVERYBODY);
    assert!(!host.path("out/status").exists() && !host.path("out/play").exists());
    assert_eq!(host.left(), Vec::<PathBuf>::new());
}

#[test]
fn a_comparison_that_is_none_is_a_failure_and_says_why() {
    let results = "tar -cf \"$disk\" -C \"$here/results\" .";
    let left_out = "{\"left_out\": [{\"rival\": \"lvs\", \"why\": \"no ip_vs\"}]}";
    for (act, results, status, why) in [
        (results, ("1", EVERYBODY), 1, ""),
        (results, ("0", left_out), 2, "lvs was left out: no ip_vs"),
        (results, ("1", ""), 2, "nothing was played (exit status 1)"),
        ("echo Kernel panic", ("0", EVERYBODY), 2, "the guest has ended without results"),
        ("echo no such machine; exit 3", ("0", EVERYBODY), 2, "qemu-system-x86_64 ended with 3"),
    ] {
        let Some(host) = Host::new(act) else { return };
        let host = host.with_results(results.0, results.1);
        let (code, said) = host.run(&[]);
        assert_eq!(code, Some(status), "{said}");
        assert!(said.contains(why), "{why}: {said}");
        // The output shows the guest's message.
        let spoken = act.strip_prefix("echo ").and_then(|text| text.split(';').next()).unwrap_or_default();
        assert!(said.contains(spoken), "{spoken}: {said}");
        assert_eq!(host.left(), Vec::<PathBuf>::new());
    }
    let Some(host) = Host::new("") else { return };
    for (arguments, why) in [
        (&["--scenario", "missing.toml"][..], "there is no scenario missing.toml"),
        (&["--with", "missing"], "there is no program missing"),
        (&["--kernel", "results"], "is no unpacked kernel"),
        (&["--weir", "missing"], "there is no missing"),
    ] {
        let (code, said) = host.run(arguments);
        assert!(code == Some(2) && said.contains(why), "{why}: {code:?} {said}");
    }
}

#[test]
fn a_guest_that_is_stuck_or_not_wanted_any_more_ends_and_leaves_nothing() {
    let Some(host) = Host::new("echo this is $$; exec sleep 600") else { return };
    let gone = |said: &str| {
        let number = said.split("this is ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
        assert!(!Path::new("/proc").join(number).exists(), "{said}");
        assert_eq!(host.left(), Vec::<PathBuf>::new());
    };
    let (code, said) = host.run(&["--timeout", "3"]);
    assert!(code == Some(2) && said.contains("the guest was not done after 3 s"), "{said}");
    gone(&said);
    for (signal, status) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let mut child = host.start(&[]);
        child.wait_for_line(PATIENCE, |line| line.starts_with("this is "));
        child.signal(signal);
        assert_eq!(child.wait(PATIENCE).code(), Some(status));
        gone(&child.output().join("\n"));
    }
}
