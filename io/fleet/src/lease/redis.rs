//! A lease in Redis: `SET NX PX`, and scripts that change the key only for its holder.
//!
//! A Redis that was just started may have lost its data, including a lease whose holder still acts. It
//! therefore grants no lease until it has been up for the duration of a lease.

use std::future::poll_fn;
use std::io;
use std::time::{Duration, UNIX_EPOCH};

use weir_config::plan::LeaseStorePlan;
use weir_model::ServerAddress;
use weir_net::tls::ClientTls;
use weir_net::{Socket, Stream};
use weir_wire::resp::{self, Reply};

use super::clock::since_boot;
use super::store::{Asked, Claim, password};
use crate::dial;

/// A Redis server, with the present connection.
pub(super) struct Redis {
    plan: LeaseStorePlan,
    connection: Option<Connection>,
}

struct Connection {
    stream: Stream,
    input: Vec<u8>,
    /// Time of the request for the uptime (since boot), and the uptime.
    asked: Duration,
    up: Duration,
}

/// KEYS: lease, epoch. ARGV: holder, milliseconds, first epoch if none is stored. The first epoch is the
/// time, so that an emptied Redis does not repeat epochs.
const ACQUIRE: &str = "local held = redis.call('get', KEYS[1]) \
    if held then return {0, held} end \
    redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) \
    local epoch = redis.call('incr', KEYS[2]) \
    if epoch == 1 then epoch = tonumber(ARGV[3]) redis.call('set', KEYS[2], ARGV[3]) end \
    return {1, epoch}";
const RENEW: &str = "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end \
    return redis.call('pexpire', KEYS[1], ARGV[2])";
const RELEASE: &str = "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end \
    return redis.call('del', KEYS[1])";

const PORTION: usize = 4096;

impl Redis {
    pub(super) fn new(plan: &LeaseStorePlan) -> Self {
        Self { plan: plan.clone(), connection: None }
    }

    pub(super) async fn acquire(&mut self, holder: &str) -> Result<Asked, String> {
        self.connected().await?;
        let since = since_boot();
        let lasts = self.plan.lasts.duration();
        let up =
            self.connection.as_ref().map(|connection| connection.up + since.saturating_sub(connection.asked));
        if up.is_none_or(|up| up < lasts) {
            let lasts = lasts.as_secs();
            return Err(self.named(format_args!(
                "was started less than {lasts} s ago: somebody may still act under a lease that it has lost"
            )));
        }
        let answer = self.script(ACQUIRE, holder).await?;
        if let Reply::Array(Some(answer)) = &answer {
            match &answer[..] {
                [Reply::Integer(1), Reply::Integer(epoch)] => {
                    let epoch = u64::try_from(*epoch).unwrap_or_default();
                    return Ok(Asked::Granted(Claim { holder: holder.to_owned(), epoch, id: 0, since }));
                }
                [Reply::Integer(0), Reply::Bulk(Some(held))] => {
                    return Ok(Asked::Held(String::from_utf8_lossy(held).into_owned()));
                }
                _ => {}
            }
        }
        Err(self.named("an answer that is not understood"))
    }

    pub(super) async fn renew(&mut self, claim: &Claim) -> Result<bool, String> {
        Ok(self.script(RENEW, &claim.holder).await? == Reply::Integer(1))
    }

    pub(super) async fn release(&mut self, claim: &Claim) -> Result<(), String> {
        self.script(RELEASE, &claim.holder).await.map(drop)
    }

    pub(super) async fn look(&mut self) -> Result<(), String> {
        let key = self.plan.key.clone();
        let answer = self.connected().await?.ask(&[b"GET", key.as_bytes()]).await;
        answer.map(drop).map_err(|why| self.named(why))
    }

    pub(super) async fn get(&mut self, key: &str) -> Result<Option<String>, String> {
        match self.command(&[b"GET", key.as_bytes()]).await? {
            Reply::Bulk(value) => Ok(value.map(|value| String::from_utf8_lossy(&value).into_owned())),
            _ => Err(self.named("an answer that is not understood")),
        }
    }

    pub(super) async fn put(&mut self, key: &str, value: &str) -> Result<(), String> {
        match self.command(&[b"SET", key.as_bytes(), value.as_bytes()]).await? {
            Reply::Simple(_) => Ok(()),
            _ => Err(self.named("an answer that is not understood")),
        }
    }

    pub(super) fn disconnect(&mut self) {
        self.connection = None;
    }

    async fn command(&mut self, words: &[&[u8]]) -> Result<Reply, String> {
        let answer = self.connected().await?.ask(words).await;
        if answer.is_err() {
            self.disconnect();
        }
        answer.map_err(|why| self.named(why))
    }

    async fn script(&mut self, script: &str, holder: &str) -> Result<Reply, String> {
        let lasts_ms = self.plan.lasts.0.to_string();
        let (key, epoch) = (self.plan.key.clone(), format!("{}/epoch", self.plan.key));
        let first = UNIX_EPOCH.elapsed().unwrap_or_default().as_secs().max(1).to_string();
        let words =
            ["EVAL", script, "2", key.as_str(), epoch.as_str(), holder, lasts_ms.as_str(), first.as_str()];
        self.command(&words.map(str::as_bytes)).await
    }

    /// Returns the connection, and connects if necessary.
    async fn connected(&mut self) -> Result<&mut Connection, String> {
        if self.connection.is_none() {
            let connected = self.connect().await;
            self.connection = Some(connected.map_err(|why| self.named(why))?);
        }
        self.connection.as_mut().ok_or_else(String::new)
    }

    async fn connect(&self) -> Result<Connection, String> {
        let address = self.plan.addresses.first().ok_or_else(|| "no address".to_owned())?;
        let (host, port) = match address {
            ServerAddress::Inet(address) => (address.ip().to_string(), address.port()),
            ServerAddress::Named(name) => (name.host.to_string(), name.port),
            ServerAddress::Unix(_) => ("localhost".to_owned(), 0),
        };
        let tls = match &self.plan.tls {
            None => None,
            Some(plan) => {
                let tls = ClientTls::load(plan).and_then(|tls| tls.connector(&host));
                Some(tls.map_err(|cause| cause.to_string())?)
            }
        };
        let stream = match address {
            ServerAddress::Unix(path) => {
                let socket = Socket::connect_unix(path).await.map_err(|cause| cause.to_string())?;
                dial::shake_hands(socket, tls.as_ref()).await?
            }
            _ => dial::connect(&host, port, tls.as_ref()).await?,
        };
        let mut connection =
            Connection { stream, input: Vec::new(), asked: Duration::ZERO, up: Duration::ZERO };
        if let Some(place) = &self.plan.password {
            let password = password(place)?;
            let mut words = vec![&b"AUTH"[..]];
            words.extend(self.plan.username.as_ref().map(|name| name.as_bytes()));
            words.push(&password);
            connection.ask(&words).await?;
        }
        connection.asked = since_boot();
        connection.up = match connection.ask(&[b"INFO", b"server"]).await? {
            Reply::Bulk(Some(info)) => up(&String::from_utf8_lossy(&info)),
            _ => None,
        }
        .ok_or_else(|| "INFO does not tell for how long it has been up".to_owned())?;
        Ok(connection)
    }

    fn named(&self, what: impl std::fmt::Display) -> String {
        let address = self.plan.addresses.first().map(ToString::to_string).unwrap_or_default();
        format!("redis {address}: {what}")
    }
}

impl Connection {
    /// Sends a command and reads its reply.
    async fn ask(&mut self, words: &[&[u8]]) -> Result<Reply, String> {
        self.exchange(&resp::command(words)).await.map_err(|cause| cause.to_string()).and_then(|reply| {
            match reply {
                // The error of an unknown command repeats the arguments, here the password.
                Reply::Error(why) if words[0] == b"AUTH" && why.contains("unknown command") => {
                    Err("AUTH: unknown command".to_owned())
                }
                Reply::Error(why) => Err(format!("{}: {why}", String::from_utf8_lossy(words[0]))),
                reply => Ok(reply),
            }
        })
    }

    async fn exchange(&mut self, command: &[u8]) -> io::Result<Reply> {
        let mut sent = 0;
        while sent < command.len() {
            let more = poll_fn(|cx| self.stream.poll_write(cx, &command[sent..])).await?;
            if more == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            sent += more;
        }
        poll_fn(|cx| self.stream.poll_flush(cx)).await?;
        loop {
            if let Some((reply, bytes)) = resp::parse(&self.input).map_err(io::Error::other)? {
                self.input.drain(..bytes);
                return Ok(reply);
            }
            let mut portion = [0; PORTION];
            let read = poll_fn(|cx| self.stream.poll_read(cx, &mut portion)).await?;
            if read == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed"));
            }
            self.input.extend_from_slice(&portion[..read]);
        }
    }
}

/// Returns the minimum uptime. The reported seconds include the begun one.
fn up(info: &str) -> Option<Duration> {
    let told = info.lines().find_map(|line| line.strip_prefix("uptime_in_seconds:"))?;
    Some(Duration::from_secs(told.trim().parse::<u64>().ok()?.saturating_sub(1)))
}

impl std::fmt::Debug for Redis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redis").field("addresses", &self.plan.addresses).finish_non_exhaustive()
    }
}
