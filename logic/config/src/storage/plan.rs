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

/// A directory tree that Weir serves (`[storage-area.NAME]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AreaPlan {
    /// Its name.
    pub name: Name,
    /// Root directory.
    pub root: PathBuf,
    /// URL paths of the tree, not percent-encoded; at least one.
    pub access_points: Vec<String>,
    /// True if Weir refuses requests that would change something.
    pub read_only: bool,
    /// Index files of directories.
    pub index: Vec<String>,
    /// True if GET requests for directories get a listing.
    pub listing: bool,
    /// True if Weir sends compressed siblings of files instead of them.
    pub precompressed: bool,
    /// Cache-Control header of files.
    pub cache_control: Option<String>,
    /// Media types by file name extension.
    pub mime_types: MediaTypes,
    /// Symbolic links that Weir follows.
    pub symlinks: Symlinks,
    /// Durability of an upload at the time of its response.
    pub durability: Durability,
    /// Checksums that Weir computes while uploads arrive.
    pub checksums: Vec<Algorithm>,
    /// Interval of the search for files without checksums; `None` = never.
    pub checksum_interval: Option<Millis>,
    /// True if Weir trusts checksums that another program has stored.
    pub trust_checksums: bool,
    /// True if PROPFIND may have an infinite depth.
    pub propfind_infinity: bool,
    /// Number of threads for disk operations.
    pub threads: u16,
    /// Maximum number of operations that wait for a thread.
    pub queue: u32,
    /// Files that each worker keeps open for a moment for further requests; 0 = none.
    pub open_files_max: u32,
    /// Maximum total size of files.
    pub quota: Option<ByteSize>,
    /// Maximum number of files and directories.
    pub files_max: Option<u32>,
    /// Maximum number of locks.
    pub locks_max: u32,
    /// Maximum number of locks of one principal.
    pub locks_per_user_max: u32,
    /// Interval of usage scans; `None` = never.
    pub usage_interval: Option<Millis>,
    /// Time for which a paused resumable upload is kept.
    pub upload_expiry: Millis,
    /// File with users and passwords.
    pub htpasswd: Option<PathBuf>,
    /// Text that clients show when they ask for a password.
    pub realm: String,
    /// Proxies that are trusted to report the certificates of their clients.
    pub identity_from: Vec<IpNet>,
    /// Files that map certificates to virtual organizations, by organization.
    pub vo_maps: BTreeMap<String, PathBuf>,
    /// True if the query may contain a bearer token.
    pub token_in_url: bool,
    /// Token endpoint whose tokens are accepted.
    pub token_endpoint: Option<Name>,
    /// Source of the secret of the balancers that redirect clients to this area; `None` = no such balancers.
    pub redirect_key: Option<SecretPlace>,
    /// Proxies that get the names of files instead of their content; `None` = none.
    pub accel_redirect: Option<AccelRedirectPlan>,
    /// True if clients may request copies from and to other servers.
    pub third_party_copy: bool,
    /// Maximum rate of all such copies together, in bytes per second; 0 = no limit.
    pub third_party_copy_rate: u64,
    /// Local users for file access; `None` = the user of the process.
    pub act_as: Option<ActAsPlan>,
    /// Access rules. Their paths and patterns have been checked.
    pub access: AreaSpec,
}

impl AreaPlan {
    /// Returns an area for a directory that is read-only and used only inside this process.
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

/// Settings for a proxy in front of Weir that sends files itself (`[storage-area.NAME.accel-redirect]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AccelRedirectPlan {
    /// Path of the area's root at the proxy, not percent-encoded.
    pub prefix: String,
    /// Networks of the proxies; at least one.
    pub trusted: Vec<IpNet>,
}

/// Local users on whose behalf Weir accesses files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActAsPlan {
    /// File that maps principals to local users.
    pub map: PathBuf,
    /// User for all other principals; `None` = Weir refuses them.
    pub otherwise: Option<String>,
}

/// Symbolic links that Weir follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Symlinks {
    /// No links.
    Never,
    /// Links whose targets are below the root.
    InsideRoot,
    /// Links whose targets are below the root and have the same owner as the link.
    OwnerMatch,
}

/// Durability of an upload at the time of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Nothing is synced to disk.
    None,
    /// The content is synced.
    Data,
    /// The content and the directory entry are synced.
    Full,
}

/// An issuer of bearer tokens (`[token-issuer.NAME]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenIssuerPlan {
    /// Its name.
    pub name: Name,
    /// `iss` of its tokens.
    pub issuer: String,
    /// Source of the public keys.
    pub key_set: KeySetSource,
    /// PEM file with the CAs for the issuer's server; `None` = those of the system.
    pub ca: Option<PathBuf>,
    /// Accepted audiences; empty = any.
    pub audiences: Vec<String>,
    /// Accepted signature algorithms.
    pub algorithms: Vec<JwtAlgorithm>,
    /// True if the header of every token must have the type of access tokens.
    pub access_token_type_required: bool,
    /// True if every token must follow the WLCG profile.
    pub profile_required: bool,
    /// Permitted difference between the clocks.
    pub leeway: Millis,
    /// Maximum remaining lifetime; Weir refuses tokens that expire later.
    pub lifetime_max: Millis,
    /// Refresh interval of the keys.
    pub refresh: Millis,
}

/// An endpoint that issues Weir's own tokens (`[token-endpoint.NAME]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenEndpointPlan {
    /// Its name.
    pub name: Name,
    /// `iss` of the tokens: a URL that is valid for an [`Endpoint`](weir_access::issue::Endpoint).
    pub issuer: String,
    /// Path of the endpoint.
    pub path: String,
    /// Signature algorithm.
    pub algorithm: OwnAlgorithm,
    /// File of the key.
    pub key: PathBuf,
    /// Files of previous keys.
    pub previous_keys: Vec<PathBuf>,
    /// `aud` of the tokens; at least one.
    pub audiences: Vec<String>,
    /// Default lifetime of a token.
    pub lifetime: Millis,
    /// Maximum lifetime that a client may request.
    pub lifetime_max: Millis,
    /// Maximum number of token requests of one client per minute; 0 = no limit.
    pub requests_per_minute: u32,
}

/// Algorithm by which Weir signs its own tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum OwnAlgorithm {
    /// ECDSA over P-256.
    #[serde(rename = "ES256")]
    Es256,
    /// HMAC with SHA-256.
    #[serde(rename = "HS256")]
    Hs256,
}

/// Source of an issuer's public keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeySetSource {
    /// A file.
    File(PathBuf),
    /// This URL.
    Url(String),
    /// The URL in the issuer's metadata.
    Discovery,
}

impl TokenIssuerPlan {
    /// Returns the rules for the issuer's tokens.
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
