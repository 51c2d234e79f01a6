//! Valid storage areas, token issuers and token endpoints.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ipnet::IpNet;
use serde::Serialize;
use weir_access::jwt::{Algorithm as JwtAlgorithm, TypeRule};
use weir_access::rule::AreaSpec;
use weir_access::token::{Audiences, Issuer};
use weir_access::wlcg::ProfileRule;
use weir_dav::digest::Algorithm;
use weir_dav::mime::MediaTypes;
use weir_model::{ByteSize, Millis, Name};

use crate::common::secret::SecretPlace;

/// A directory tree that is served (`[storage-area.NAME]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AreaPlan {
    /// Its name.
    pub name: Name,
    /// The directory.
    pub root: PathBuf,
    /// Where the tree appears in URLs, written plainly; at least one.
    pub access_points: Vec<String>,
    /// Requests that would change something are refused.
    pub read_only: bool,
    /// Files that stand for their directory.
    pub index: Vec<String>,
    /// Directories are listed to those who GET them.
    pub listing: bool,
    /// Compressed siblings of files are sent in their place.
    pub precompressed: bool,
    /// The Cache-Control header of files.
    pub cache_control: Option<String>,
    /// What files are, by the ends of their names.
    pub mime_types: MediaTypes,
    /// Which symbolic links are followed.
    pub symlinks: Symlinks,
    /// What is on the disk for certain when an upload is confirmed.
    pub durability: Durability,
    /// Computed while uploads arrive.
    pub checksums: Vec<Algorithm>,
    /// How often checksums are looked for that files have not; `None` = never.
    pub checksum_interval: Option<Millis>,
    /// Checksums that another program has stored are believed.
    pub trust_checksums: bool,
    /// PROPFIND may have any depth.
    pub propfind_infinity: bool,
    /// Threads that wait for the disk.
    pub threads: u16,
    /// Calls that may wait for a thread.
    pub queue: u32,
    /// Files that are kept open for a moment for whoever asks next, for each worker; 0 = none.
    pub open_files_max: u32,
    /// Bytes that its files may take up.
    pub quota: Option<ByteSize>,
    /// Files and directories that it may have.
    pub files_max: Option<u32>,
    /// Locks that it keeps.
    pub locks_max: u32,
    /// Locks of one principal.
    pub locks_per_user_max: u32,
    /// How often its files are counted; `None` = never.
    pub usage_interval: Option<Millis>,
    /// How long a resumable upload may pause.
    pub upload_expiry: Millis,
    /// Users and passwords.
    pub htpasswd: Option<PathBuf>,
    /// What clients show to people when they ask for a password.
    pub realm: String,
    /// Proxies that tell of the certificates of their clients.
    pub identity_from: Vec<IpNet>,
    /// Files that say whose certificates belong to an organisation.
    pub vo_maps: BTreeMap<String, PathBuf>,
    /// A bearer token may come in the query.
    pub token_in_url: bool,
    /// Who issues tokens here, whose tokens count.
    pub token_endpoint: Option<Name>,
    /// Where the secret is of those who send clients on to here; `None` = nobody does.
    pub redirect_key: Option<SecretPlace>,
    /// Who is told the names of files in place of their content; `None` = nobody.
    pub accel_redirect: Option<AccelRedirectPlan>,
    /// Files are copied from and to other servers for clients.
    pub third_party_copy: bool,
    /// Bytes each second of all such copies together; 0 = as many as they can.
    pub third_party_copy_rate: u64,
    /// As whom files are read and written; `None` = as the process itself.
    pub act_as: Option<ActAsPlan>,
    /// Who may do what; its paths and patterns have been read once.
    pub access: AreaSpec,
}

impl AreaPlan {
    /// A directory whose files are only read, and only by who is within this process.
    pub fn of_directory(name: Name, root: PathBuf, symlinks: Symlinks) -> Self {
        Self {
            realm: name.to_string(),
            name,
            root,
            access_points: vec!["/".to_owned()],
            read_only: true,
            index: Vec::new(),
            listing: false,
            precompressed: false,
            cache_control: None,
            mime_types: MediaTypes::default(),
            symlinks,
            durability: Durability::None,
            checksums: Vec::new(),
            checksum_interval: None,
            trust_checksums: false,
            propfind_infinity: false,
            threads: 8,
            queue: 1024,
            open_files_max: 256,
            quota: None,
            files_max: None,
            locks_max: 10_000,
            locks_per_user_max: 1_000,
            usage_interval: None,
            upload_expiry: Millis::from_secs(86_400),
            htpasswd: None,
            identity_from: Vec::new(),
            vo_maps: BTreeMap::new(),
            token_in_url: false,
            token_endpoint: None,
            redirect_key: None,
            accel_redirect: None,
            third_party_copy: false,
            third_party_copy_rate: 0,
            act_as: None,
            access: AreaSpec::default(),
        }
    }
}

/// A proxy in front sends files itself (`[storage-area.NAME.accel-redirect]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AccelRedirectPlan {
    /// Where the root of the area is for the proxy, written plainly.
    pub prefix: String,
    /// Which proxies; at least one network.
    pub trusted: Vec<IpNet>,
}

/// Local users that stand for those who ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActAsPlan {
    /// The file that says who is who.
    pub map: PathBuf,
    /// The user for the others; `None` = they are refused.
    pub otherwise: Option<String>,
}

/// Which symbolic links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Symlinks {
    /// None.
    Never,
    /// Those that stay below the root.
    InsideRoot,
    /// Of these those that belong to the owner of what they point to.
    OwnerMatch,
}

/// What is on the disk for certain when an upload is confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Nothing.
    None,
    /// The bytes.
    Data,
    /// The bytes and the name.
    Full,
}

/// Who issues bearer tokens (`[token-issuer.NAME]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenIssuerPlan {
    /// Its name.
    pub name: Name,
    /// `iss` of its tokens.
    pub issuer: String,
    /// Where its public keys are.
    pub key_set: KeySetSource,
    /// PEM file with the authorities for its server; `None` = those of the system.
    pub ca: Option<PathBuf>,
    /// Who its tokens must be meant for; empty = that is not looked at.
    pub audiences: Vec<String>,
    /// What it may sign with.
    pub algorithms: Vec<JwtAlgorithm>,
    /// The header of all of its tokens must say that they are access tokens.
    pub access_token_type_required: bool,
    /// All of its tokens must follow the WLCG profile.
    pub profile_required: bool,
    /// How far its clock and ours may differ.
    pub leeway: Millis,
    /// Tokens that end later than this are refused.
    pub lifetime_max: Millis,
    /// How often its keys are asked for again.
    pub refresh: Millis,
}

/// Issues Weir's own tokens (`[token-endpoint.NAME]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenEndpointPlan {
    /// Its name.
    pub name: Name,
    /// `iss` of its tokens: a URL of which an [`Endpoint`](weir_access::issue::Endpoint) can be made.
    pub issuer: String,
    /// Where tokens are issued.
    pub path: String,
    /// What they are signed with.
    pub algorithm: OwnAlgorithm,
    /// The file of the key.
    pub key: PathBuf,
    /// The files of keys before it.
    pub previous_keys: Vec<PathBuf>,
    /// `aud` of its tokens; at least one.
    pub audiences: Vec<String>,
    /// The life of a token if nothing is asked for.
    pub lifetime: Millis,
    /// The longest life that can be asked for.
    pub lifetime_max: Millis,
    /// Tokens that one client may ask for in a minute; 0 = as many as it likes.
    pub requests_per_minute: u32,
}

/// What Weir signs its own tokens with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum OwnAlgorithm {
    /// ECDSA over P-256.
    #[serde(rename = "ES256")]
    Es256,
    /// HMAC with SHA-256.
    #[serde(rename = "HS256")]
    Hs256,
}

/// Where an issuer's public keys are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeySetSource {
    /// In a file.
    File(PathBuf),
    /// At this address.
    Url(String),
    /// Where the issuer's metadata says.
    Discovery,
}

impl TokenIssuerPlan {
    /// What is accepted from it.
    pub fn rules(&self) -> Issuer {
        let mut issuer = Issuer::new(&self.issuer);
        issuer.algorithms.clone_from(&self.algorithms);
        if !self.audiences.is_empty() {
            issuer.audiences = Audiences::OneOf(self.audiences.clone());
        }
        if self.access_token_type_required {
            issuer.types = TypeRule::Required;
        }
        if self.profile_required {
            issuer.profile = ProfileRule::Required;
        }
        issuer.leeway_secs = self.leeway.0 / 1000;
        issuer.lifetime_max_secs = self.lifetime_max.0 / 1000;
        issuer
    }
}
