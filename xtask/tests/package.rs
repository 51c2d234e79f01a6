//! Builds the Debian package and the tarball with the debug binary, unpacks them, and runs their programs.

#![allow(clippy::unwrap_used, reason = "what goes wrong here fails the test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;
use weir_testkit::{Child, PATIENCE, RawClient, Signal, untested};

#[path = "package/unit.rs"]
mod unit;

/// Creates an empty directory that is removed when the test ends.
fn directory() -> TempDir {
    tempfile::Builder::new().prefix("weir-package-").tempdir().unwrap()
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Returns the `weir` built with this test, and builds it if it is missing. A whole test run builds it before
/// any test.
fn weir() -> &'static Path {
    static WEIR: OnceLock<PathBuf> = OnceLock::new();
    WEIR.get_or_init(|| {
        // Both programs are in the directory of the same profile.
        let weir = Path::new(env!("CARGO_BIN_EXE_xtask")).with_file_name("weir");
        if !weir.exists() {
            let mut cargo = Command::new(env!("CARGO"));
            let target = weir.ancestors().nth(2).unwrap();
            cargo.current_dir(repository()).args(["build", "--package", "weir", "--target-dir"]).arg(target);
            succeed(&mut cargo);
        }
        weir
    })
}

/// Small program that is packed quickly, for tests of everything but the program.
const STAND_IN: &str = "/bin/true";

fn package(only: &str, binary: &Path, out: &Path) -> PathBuf {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    xtask.args(["package", "--only", only, "--binary"]).arg(binary).arg("--out").arg(out);
    let printed = succeed(&mut xtask);
    PathBuf::from(printed.trim())
}

/// Returns the Debian package with the debug binary. It is built once, because packing takes seconds.
fn real_deb() -> &'static Path {
    static DEB: OnceLock<PathBuf> = OnceLock::new();
    DEB.get_or_init(|| package("deb", weir(), &Path::new(env!("CARGO_TARGET_TMPDIR")).join("package")))
}

/// Unpacks a Debian package without installing it.
fn unpack(package: &Path, into: &Path) {
    succeed(Command::new("dpkg-deb").arg("--extract").arg(package).arg(into));
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, text(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

fn has_program(name: &str) -> bool {
    Command::new(name).arg("--version").output().is_ok()
}

#[test]
fn the_bill_of_materials_names_what_is_in_the_program_and_nothing_that_only_tests_need() {
    let out = directory();
    let bill = fs::read_to_string(package("sbom", Path::new(STAND_IN), out.path())).unwrap();
    let bill: serde_json::Value = serde_json::from_str(&bill).unwrap();
    assert_eq!((bill["bomFormat"].as_str(), bill["specVersion"].as_str()), (Some("CycloneDX"), Some("1.5")));
    let components = bill["components"].as_array().unwrap();
    let find = |name: &str| components.iter().find(|component| component["name"] == name);
    let rustls = find("rustls").unwrap();
    let version = rustls["version"].as_str().unwrap();
    assert_eq!(rustls["purl"], format!("pkg:cargo/rustls@{version}"));
    assert_eq!(rustls["hashes"][0]["content"].as_str().unwrap().len(), 64);
    assert!(rustls["licenses"][0]["expression"].as_str().unwrap().contains("MIT"));
    assert!(find("kube").is_some() && find("weir-proxy").is_some() && find("cc").is_some());
    for of_tests in ["insta", "proptest", "weir-testkit", "weir-e2e", "criterion"] {
        assert!(find(of_tests).is_none(), "{of_tests} is in no package");
    }
    // Every reference leads to a component or to the program.
    let mut known: Vec<&str> =
        components.iter().map(|component| component["bom-ref"].as_str().unwrap()).collect();
    known.push(bill["metadata"]["component"]["bom-ref"].as_str().unwrap());
    for dependency in bill["dependencies"].as_array().unwrap() {
        for needed in dependency["dependsOn"].as_array().unwrap() {
            assert!(known.contains(&needed.as_str().unwrap()), "{needed}");
        }
    }
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "packs the program: make test-all")]
fn the_unpacked_program_runs_and_accepts_the_shipped_config() {
    let at = directory();
    let root = at.path().join("root");
    unpack(real_deb(), &root);
    runs_and_accepts_its_config(&root);
}

#[test]
fn completions_stand_where_the_shells_of_debian_look() {
    let at = directory();
    let root = at.path().join("root");
    unpack(&package("deb", STAND_IN.as_ref(), at.path()), &root);
    for path in [
        "bash-completion/completions/weir",
        "zsh/vendor-completions/_weir",
        "fish/vendor_completions.d/weir.fish",
    ] {
        assert!(root.join("usr/share").join(path).is_file(), "{path} is missing");
    }
}

/// Runs the program of the package in `root`: it must print its version and accept the packaged config.
fn runs_and_accepts_its_config(root: &Path) {
    let program = root.join("usr/sbin/weir");
    let version = succeed(Command::new(&program).arg("--version"));
    assert_eq!(version.trim(), format!("weir {}", env!("CARGO_PKG_VERSION")));

    // systemd creates the directories for its sockets and files, which do not exist here.
    let config = fs::read_to_string(root.join("etc/weir/weir.toml")).unwrap();
    let config = format!("[weir]\ncontrol = false\nstate = false\n\n{config}");
    let at = directory();
    let path = at.path().join("weir.toml");
    fs::write(&path, config).unwrap();
    let check = Command::new(&program).arg("check").arg("--no-ports").arg(&path).output().unwrap();
    assert_eq!(check.status.code(), Some(0), "{}", text(&check));

    let completion = root.join("usr/share/bash-completion/completions/weir");
    succeed(Command::new("bash").arg("-n").arg(&completion));
    assert!(fs::read_to_string(completion).unwrap().contains("complete -F _weir "));
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "packs the program: make test-all")]
fn the_unpacked_tarball_runs_the_demo_where_nothing_is_installed() {
    let at = directory();
    let tarball = package("tarball", weir(), at.path());
    succeed(Command::new("tar").arg("-xf").arg(&tarball).arg("-C").arg(at.path()));
    let name = tarball.file_name().unwrap().to_str().unwrap().trim_end_matches(".tar.gz");
    let mut demo = Command::new("bin/weir");
    demo.current_dir(at.path().join(name)).args(["demo", "--once"]);
    // None of the developer's tools is in `PATH`.
    demo.env_clear().env("PATH", "/nonexistent").env("TMPDIR", at.path());
    assert!(succeed(&mut demo).contains(" answered with 200, 0 failed"));
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "packs the program: make test-all")]
fn the_unpacked_program_serves_by_the_shipped_config() {
    let at = directory();
    unpack(real_deb(), &at.path().join("root"));
    let config = fs::read_to_string(at.path().join("root/etc/weir/weir.toml")).unwrap();
    let listening = ["127.0.0.1:8404", "127.0.0.1:8080"];
    assert!(listening.iter().all(|address| config.contains(address)), "{config}");
    // Replaces the addresses and directories of the service.
    let config = listening.iter().fold(config, |config, address| config.replace(address, "127.0.0.1:0"));
    let (control, state) = (at.path().join("control.sock"), at.path().join("state.toml"));
    let own = format!("[weir]\ncontrol = \"{}\"\nstate = \"{}\"\n\n", control.display(), state.display());
    let path = at.path().join("weir.toml");
    fs::write(&path, own + &config).unwrap();

    let program = at.path().join("root/usr/sbin/weir");
    let mut command = Command::new(&program);
    command.arg("run").arg(&path);
    let mut weir = Child::spawn(command);
    let told = weir.wait_for_line(PATIENCE, |line| line.starts_with("listener web: "));
    let mut client = RawClient::connect(told.trim_start_matches("listener web: ").parse().unwrap());
    let welcome = client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(welcome.status, 503);
    assert!(welcome.text().contains("nothing to balance yet"), "{}", welcome.text());
    weir.wait_for_line(PATIENCE, |line| line.contains(" is ready"));
    let shown = Command::new(&program).arg("ctl").arg("--socket").arg(&control).arg("show").output().unwrap();
    assert!(shown.status.success(), "{}", text(&shown));
    weir.signal(Signal::TERM);
    assert_eq!(weir.wait(PATIENCE).code(), Some(0));
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "packs the program: make test-all")]
fn the_package_says_what_it_needs() {
    let package = real_deb();
    let field = |name: &str| {
        succeed(Command::new("dpkg-deb").arg("--field").arg(package).arg(name)).trim().to_owned()
    };
    assert_eq!(field("Package"), "weir");
    assert_eq!(field("Version"), env!("CARGO_PKG_VERSION"));
    assert!(field("Depends").starts_with("libc6 (>= 2."), "{}", field("Depends"));
    assert!(field("Installed-Size").parse::<u32>().unwrap() > 1000);
}

#[test]
fn the_files_of_the_operator_are_in_the_package_and_dpkg_knows_them() {
    let at = directory();
    let package = &package("deb", Path::new(STAND_IN), at.path());
    let control = at.path().join("control");
    succeed(Command::new("dpkg-deb").arg("--control").arg(package).arg(&control));
    let conffiles = fs::read_to_string(control.join("conffiles")).unwrap();
    assert_eq!(conffiles, "/etc/weir/weir.toml\n/etc/logrotate.d/weir\n");
    let root = at.path().join("root");
    unpack(package, &root);
    for path in conffiles.lines() {
        assert!(root.join(path.trim_start_matches('/')).is_file(), "{path} is not in the package");
    }
}

#[test]
fn every_script_of_the_package_is_valid_shell() {
    for name in ["postinst", "prerm", "postrm"] {
        succeed(Command::new("sh").arg("-n").arg(repository().join("packaging/debian").join(name)));
    }
}

#[test]
fn files_have_the_permissions_of_a_system_whatever_the_builder_s_umask_is() {
    let at = directory();
    let out = at.path().display();
    let xtask = env!("CARGO_BIN_EXE_xtask");
    let line = format!("umask 077; exec {xtask} package --only deb --binary {STAND_IN} --out {out}");
    let package = succeed(Command::new("sh").args(["-c", &line]));
    let root = at.path().join("root");
    unpack(Path::new(package.trim()), &root);
    let mode = |path: &str| fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("usr/sbin/weir"), 0o755);
    assert_eq!(mode("etc/weir/weir.toml"), 0o644);
    for directory in ["usr", "usr/sbin", "etc", "etc/weir", "lib", "lib/systemd", "usr/share/doc/weir"] {
        assert_eq!(mode(directory), 0o755, "{directory}");
    }
}

#[test]
fn building_twice_gives_the_same_bytes() {
    let (first, second) = (directory(), directory());
    for only in ["deb", "tarball"] {
        let (a, b) =
            (package(only, STAND_IN.as_ref(), first.path()), package(only, STAND_IN.as_ref(), second.path()));
        assert_eq!(a.file_name(), b.file_name());
        assert!(fs::read(&a).unwrap() == fs::read(&b).unwrap(), "{only}: two builds differ");
    }
}

#[test]
fn the_tarball_holds_one_directory_with_the_program_its_config_and_its_texts() {
    let at = directory();
    let tarball = package("tarball", STAND_IN.as_ref(), at.path());
    succeed(
        Command::new("tar").arg("--extract").arg("--file").arg(&tarball).arg("--directory").arg(at.path()),
    );
    let name = tarball.file_name().unwrap().to_str().unwrap().trim_end_matches(".tar.gz");
    let root = at.path().join(name);
    succeed(Command::new(root.join("bin/weir")).arg("--version"));
    for path in [
        "etc/weir/weir.toml",
        "lib/systemd/system/weir.service",
        "share/man/man8/weir.8.gz",
        "share/doc/weir/LICENSE",
        "share/doc/weir/docs/reference/config.md",
        "share/doc/weir/docs/guide/systemd.md",
    ] {
        assert!(root.join(path).is_file(), "{path} is missing");
    }
}

/// Returns true for root. Only root may let dpkg change owners and run scripts.
fn may_install() -> bool {
    succeed(Command::new("id").arg("-u")).trim() == "0"
}

/// Returns a dpkg command with its own root directory, in which nothing is installed.
fn dpkg(root: &Path) -> Command {
    let admin = root.join("var/lib/dpkg");
    for directory in ["updates", "info"] {
        fs::create_dir_all(admin.join(directory)).unwrap();
    }
    let status = admin.join("status");
    if !status.exists() {
        fs::write(status, "").unwrap();
    }
    let mut dpkg = Command::new("dpkg");
    // libc6 is not installed there. Scripts run outside the directory and find it in DPKG_ROOT.
    dpkg.arg(format!("--root={}", root.display()));
    dpkg.args(["--force-depends", "--force-script-chrootless", "--force-confold"]);
    dpkg
}

#[test]
fn dpkg_installs_upgrades_and_purges_it_and_leaves_an_edited_config_alone() {
    if !may_install() {
        return untested("not root, so dpkg installs nothing");
    }
    let at = directory();
    let package = package("deb", STAND_IN.as_ref(), at.path());
    let root = at.path().join("root");
    fs::create_dir_all(&root).unwrap();

    succeed(dpkg(&root).arg("--install").arg(&package));
    let status = succeed(dpkg(&root).args(["--status", "weir"]));
    assert!(status.contains("Status: install ok installed"), "{status}");
    let passwd = fs::read_to_string(root.join("etc/passwd")).unwrap_or_default();
    assert!(passwd.lines().any(|line| line.starts_with("weir:")), "no account: {passwd:?}");

    let config = root.join("etc/weir/weir.toml");
    fs::write(&config, "# mine\n").unwrap();
    succeed(dpkg(&root).arg("--install").arg(&package));
    assert_eq!(fs::read_to_string(&config).unwrap(), "# mine\n");

    fs::create_dir_all(root.join("var/lib/weir")).unwrap();
    fs::write(root.join("var/lib/weir/state.toml"), "").unwrap();
    succeed(dpkg(&root).args(["--remove", "weir"]));
    assert!(!root.join("usr/sbin/weir").exists());
    assert!(config.exists() && root.join("var/lib/weir/state.toml").exists());

    succeed(dpkg(&root).args(["--purge", "weir"]));
    assert!(!config.exists() && !root.join("var/lib/weir").exists());
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "packs the program: make test-all")]
fn what_dpkg_has_installed_runs_and_accepts_its_config() {
    if !may_install() {
        return untested("not root, so dpkg installs nothing");
    }
    let at = directory();
    let root = at.path().join("root");
    fs::create_dir_all(&root).unwrap();
    succeed(dpkg(&root).arg("--install").arg(real_deb()));
    runs_and_accepts_its_config(&root);
    // The file that systemd starts is the one that dpkg has installed.
    let unit = fs::read_to_string(root.join("lib/systemd/system/weir.service")).unwrap();
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let words: Vec<&str> = start.split(' ').collect();
    assert!(root.join(words[0].trim_start_matches('/')).is_file(), "{start}");
    assert!(words.iter().any(|word| *word == "/etc/weir/weir.toml" || *word == "/etc/weir"), "{start}");
}

#[test]
fn systemd_understands_the_unit_and_finds_it_hardened() {
    if !has_program("systemd-analyze") {
        return untested("systemd-analyze is not installed");
    }
    let at = directory();
    let root = at.path().join("root");
    unpack(&package("deb", STAND_IN.as_ref(), at.path()), &root);

    // `verify` looks for the programs that the unit calls, and for the targets that it waits for.
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::copy("/bin/kill", root.join("bin/kill")).unwrap();
    let system = root.join("lib/systemd/system");
    for target in ["multi-user", "network-online", "basic", "sysinit", "shutdown"] {
        fs::write(system.join(format!("{target}.target")), "[Unit]\n").unwrap();
    }
    let analyze = |words: &[&str]| {
        let mut command = Command::new("systemd-analyze");
        command.arg(format!("--root={}", root.display())).args(words);
        command.output().unwrap()
    };
    let verify = analyze(&["verify", "--man=no", "weir.service"]);
    let complaints: Vec<_> =
        text(&verify).lines().filter(|line| line.contains("weir.service")).map(str::to_owned).collect();
    assert_eq!(complaints, [""; 0]);
    assert!(verify.status.success(), "{}", text(&verify));

    // In tenths: 2.0 of 10, well inside the range that systemd calls "OK".
    let security = analyze(&["security", "--offline=true", "--threshold=20", "--no-pager", "weir.service"]);
    assert!(security.status.success(), "{}", text(&security));
}
