//! Ways to serve the files, and their configurations.

use std::net::SocketAddr;

use super::service::{HEALTH, INTERNAL, Mode, Service};
use super::{Bench, READY};
use crate::cpu;
use crate::error::{Error, Result};
use crate::process::{Cores, Process};
use crate::rivals::{Balancer, Contestant, Product};
use crate::scenario::Setup;
use crate::storage::server::{FileServer, WeirSetup, nginx_tls, ready, start_weir};
use crate::workshop::{CIPHER, HOST, free_addresses};

/// One way to serve the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// StoRM alone, which the others are compared with.
    Storm,
    /// StoRM behind a balancer that passes its responses on. With TLS, the balancer uses TLS to StoRM, too.
    Proxied(Product),
    /// StoRM behind a proxy that sends the files which StoRM names. The connection between them is plain.
    Offloaded(Product),
    /// Weir's own storage area.
    Weir,
}

impl Way {
    /// Returns the mode of StoRM that this way needs.
    pub(super) fn mode(self) -> Option<Mode> {
        match self {
            Self::Storm | Self::Proxied(_) => Some(Mode::Sends),
            Self::Offloaded(_) => Some(Mode::Names),
            Self::Weir => None,
        }
    }

    /// Returns the name in tables.
    pub(super) fn name(self, service: Option<&Service>) -> Result<String> {
        let storm = service.map_or("StoRM", |service| service.version.as_str());
        Ok(match self {
            Self::Storm => format!("StoRM WebDAV {storm}"),
            Self::Proxied(product) => format!("{}, proxy", Contestant::first(product)?.name),
            Self::Offloaded(product) => format!("{}, offload", Contestant::first(product)?.name),
            Self::Weir => format!("{}, its storage area", Contestant::first(Product::Weir)?.name),
        })
    }
}

/// Running StoRM services in both modes. A Java program needs some time to reach its full speed, so they run
/// during all turns of a table.
pub(super) struct Services {
    sends: Option<Service>,
    names: Option<Service>,
}

impl Services {
    /// Starts the services that the ways need.
    pub(super) fn start(bench: &Bench<'_>, ways: &[Way]) -> Result<Self> {
        let start = |mode| {
            let needed = ways.iter().any(|way| way.mode() == Some(mode));
            needed.then(|| Service::start(&bench.workshop, &bench.jar, &bench.files, mode)).transpose()
        };
        Ok(Self { sends: start(Mode::Sends)?, names: start(Mode::Names)? })
    }

    /// Returns the service that a way needs; [`Way::Weir`] needs none.
    pub(super) fn of(&self, way: Way) -> Option<&Service> {
        match way.mode()? {
            Mode::Sends => self.sends.as_ref(),
            Mode::Names => self.names.as_ref(),
        }
    }

    /// Returns all services.
    pub(super) fn all(&self) -> impl Iterator<Item = (Mode, &Service)> {
        let sends = self.sends.iter().map(|service| (Mode::Sends, service));
        sends.chain(self.names.iter().map(|service| (Mode::Names, service)))
    }
}

/// A running way. The program in front of StoRM, or in its place, is started for each turn.
pub(super) struct Running<'a> {
    pub(super) address: SocketAddr,
    service: Option<&'a Service>,
    front: Option<Front>,
}

/// A program on the balancer's core in front of StoRM, or in its place.
enum Front {
    Proxy(Balancer),
    Files(FileServer),
}

impl Front {
    fn process(&self) -> &Process {
        match self {
            Self::Proxy(balancer) => &balancer.process,
            Self::Files(server) => &server.process,
        }
    }
}

/// A figure for each of the two programs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Parts<T> {
    /// StoRM.
    pub(super) storm: T,
    /// The program in front of StoRM, or in its place.
    pub(super) front: T,
}

impl<'a> Running<'a> {
    /// Starts the programs that are not running yet, and waits until they respond.
    pub(super) fn start(bench: &Bench<'_>, services: &'a Services, way: Way, tls: bool) -> Result<Self> {
        let service = services.of(way);
        let storm = || service.ok_or_else(|| Error::new("StoRM is not running"));
        let (address, front) = match way {
            Way::Storm => {
                let storm = storm()?;
                (if tls { storm.tls } else { storm.plain }, None)
            }
            Way::Proxied(product) => {
                let storm = storm()?;
                let server = if tls { storm.tls } else { storm.plain };
                let setup = Setup { tls_in: tls, tls_out: tls, ..Setup::PLAIN };
                let contestant = Contestant::first(product)?;
                let balancer = contestant.start_before(&bench.workshop, &[server], HEALTH, setup)?;
                (balancer.address, Some(Front::Proxy(balancer)))
            }
            Way::Offloaded(product) => {
                let server = offload(bench, product, storm()?.plain, tls)?;
                (server.address, Some(Front::Files(server)))
            }
            Way::Weir => {
                let server = start_weir(&bench.workshop, &bench.root, WeirSetup { tls, ..WeirSetup::PLAIN })?;
                (server.address, Some(Front::Files(server)))
            }
        };
        Ok(Self { address, service, front })
    }

    fn of_each<T: Default>(&self, figure: impl Fn(u32) -> T) -> Parts<T> {
        let of = |process: Option<&Process>| process.map(|process| figure(process.pid())).unwrap_or_default();
        Parts {
            storm: of(self.service.map(|service| &service.process)),
            front: of(self.front.as_ref().map(Front::process)),
        }
    }

    /// Returns the CPU time of each program since its start, in seconds.
    pub(super) fn cpu_s(&self) -> Parts<f64> {
        self.of_each(|pid| cpu::cpu_time_with_ended_threads(pid).as_secs_f64())
    }

    /// Returns the resident memory of each program in bytes.
    pub(super) fn memory_bytes(&self) -> Parts<u64> {
        self.of_each(cpu::memory_bytes)
    }
}

/// Starts a proxy that sends the files which the service at `storm` names.
fn offload(bench: &Bench<'_>, product: Product, storm: SocketAddr, tls: bool) -> Result<FileServer> {
    let contestant = Contestant::first(product)?;
    let [bind] = free_addresses()?;
    let mut command = Cores::Balancer.command(&contestant.program);
    match product {
        Product::Weir => {
            let config = weir_config(bench, bind, storm, tls);
            command.arg("run").arg(bench.workshop.write("weir-offload.toml", &config)?);
        }
        Product::Nginx => {
            let config = nginx_config(bench, bind, storm, tls);
            let config = bench.workshop.write("offload.conf", &config)?;
            command.arg("-p").arg(bench.workshop.path("")).arg("-e").arg("stderr").arg("-c").arg(config);
        }
        Product::HaProxy | Product::HaProxySplice => {
            return Err(Error::new("HAProxy cannot send the files that a server names"));
        }
    }
    let path = if tls { None } else { Some(READY) };
    ready(&contestant.name, command, &bench.workshop, bind, path)
}

/// Returns Weir's config, as in the guide. The names from StoRM are not percent-encoded.
fn weir_config(bench: &Bench<'_>, bind: SocketAddr, storm: SocketAddr, tls: bool) -> String {
    let tls = if tls {
        let certificate = bench.workshop.certificate();
        format!(
            "tls = {{ certificates = {certificate:?}, min-version = \"1.3\", ciphers = [\"{CIPHER}\"] }}\n"
        )
    } else {
        String::new()
    };
    let prefix = format!("{INTERNAL}{}", bench.files.display());
    format!(
        "[weir]\nworkers = 1\ncontrol = {control:?}\nstate = false\n\n[listener.web]\nbind = \"{bind}\"\npool = \"storm\"\n{tls}\n\
         [pool.storm]\ncheck = {{ http = \"GET {HEALTH}\", host = \"{HOST}\" }}\nservers = [\"{storm}\"]\n\n\
         [[pool.storm.offload.location]]\nprefix = {prefix:?}\nroot = {root:?}\npercent-encoded = false\n",
        control = bench.workshop.path("weir.sock"),
        root = bench.files,
    )
}

/// Returns NGINX's config, as in StoRM's documentation, with its best settings for file serving.
fn nginx_config(bench: &Bench<'_>, bind: SocketAddr, storm: SocketAddr, tls: bool) -> String {
    let (ssl, tls_keys) = nginx_tls(&bench.workshop, tls);
    format!(
        "daemon off;
worker_processes 1;
user root;
pid offload.pid;
error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  default_type application/octet-stream;
  tcp_nodelay on;
  open_file_cache max=1024;
  open_file_cache_valid 30s;
  keepalive_timeout 60s;
  keepalive_requests 1000000000;
  client_body_temp_path offload-body;
  proxy_temp_path offload-proxy;
  upstream storm {{
    server {storm};
    keepalive 256;
    keepalive_requests 1000000000;
  }}
  server {{
    listen {bind}{ssl} deferred backlog=4096;
{tls_keys}    client_max_body_size 0;
    location {INTERNAL} {{
      internal;
      alias /;
      sendfile on;
      tcp_nopush on;
    }}
    location / {{
      proxy_pass http://storm;
      proxy_http_version 1.1;
      proxy_set_header Connection \"\";
      proxy_set_header Forwarded \"for=$remote_addr;host=$http_host;proto=$scheme\";
    }}
  }}
}}
"
    )
}
