//! Content codings of files with a compressed sibling.

use crate::text::{elements, weighted};

/// A content coding of a compressed sibling file (RFC 9110 section 8.4.1, RFC 7932, RFC 8878).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Coding {
    /// `br`
    Brotli,
    /// `zstd`
    Zstd,
    /// `gzip`
    Gzip,
}

impl Coding {
    /// Every coding, the best compression first.
    pub const ALL: [Self; 3] = [Self::Brotli, Self::Zstd, Self::Gzip];

    /// Returns the name in Content-Encoding.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// Returns the suffix of the sibling's name, e.g. `.br` in `index.html.br`.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Brotli => ".br",
            Self::Zstd => ".zst",
            Self::Gzip => ".gz",
        }
    }

    /// Returns the coding among `available` to send (RFC 9110 section 12.5.3). The highest weight in
    /// Accept-Encoding wins; of equal weights, the first in `available`. Returns `None` for the uncompressed
    /// file: without the header, if no coding is acceptable, or if the client prefers `identity`.
    pub fn choose(accept_encoding: Option<&[u8]>, available: &[Self]) -> Option<Self> {
        let accept = accept_encoding?;
        let mut best = None;
        // Without an explicit weight, identity is acceptable but ranks below every acceptable coding.
        let mut best_quality = explicit(accept, b"identity").unwrap_or(0);
        for coding in available {
            let quality = coding.quality(accept);
            let wins = quality > best_quality || (best.is_none() && quality == best_quality);
            if quality > 0 && wins {
                (best, best_quality) = (Some(*coding), quality);
            }
        }
        best
    }

    fn quality(self, accept: &[u8]) -> u16 {
        let named = explicit(accept, self.name().as_bytes());
        let alias = || (self == Self::Gzip).then(|| explicit(accept, b"x-gzip")).flatten();
        named.or_else(alias).or_else(|| explicit(accept, b"*")).unwrap_or(0)
    }
}

/// Returns the weight that the list gives to this name.
fn explicit(accept: &[u8], name: &[u8]) -> Option<u16> {
    let found = elements(accept).filter_map(weighted).find(|(element, _)| element.eq_ignore_ascii_case(name));
    found.map(|(_, quality)| quality)
}

#[cfg(test)]
mod tests {
    use super::Coding::*;
    use super::*;

    #[test]
    fn the_heaviest_available_coding_wins() {
        let all = &Coding::ALL[..];
        for (accept, available, chosen) in [
            (None, all, None),
            (Some(""), all, None),
            (Some("gzip"), all, Some(Gzip)),
            (Some("x-gzip"), all, Some(Gzip)),
            (Some("GZIP, Br"), all, Some(Brotli)),
            (Some("gzip, deflate, br, zstd"), all, Some(Brotli)),
            (Some("gzip, deflate, br, zstd"), &[Zstd, Brotli][..], Some(Zstd)),
            (Some("gzip;q=1.0, br;q=0.5"), all, Some(Gzip)),
            (Some("gzip;q=0, *"), all, Some(Brotli)),
            (Some("gzip;q=0, *"), &[Gzip][..], None),
            (Some("*;q=0.1"), &[Gzip][..], Some(Gzip)),
            (Some("br"), &[Gzip][..], None),
            (Some("gzip;q=0.5, identity"), all, None),
            (Some("gzip;q=0.5, identity;q=0.5"), all, Some(Gzip)),
            (Some("gzip;q=0.5, identity;q=0.2"), all, Some(Gzip)),
            (Some("identity;q=0, gzip;q=0"), all, None),
            (Some("gzip;q=banana"), all, None),
            (Some("gzip"), &[][..], None),
        ] {
            assert_eq!(Coding::choose(accept.map(str::as_bytes), available), chosen, "{accept:?}");
        }
    }
}
