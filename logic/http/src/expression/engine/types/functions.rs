//! The functions and methods of expressions, with parameter and result types (cel-spec `doc/langdef.md`,
//! "List of Standard Definitions").

use super::Type;

/// The types that a parameter accepts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Parameter {
    Any,
    /// `string`, `bytes`, `list` or `map`.
    Sized,
    OneOf(&'static [Type]),
}

/// The signature of a function or method.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) name: &'static str,
    /// Value before the dot, for a method.
    pub(super) target: Option<Parameter>,
    pub(super) arguments: &'static [Parameter],
    pub(super) result: Type,
}

const STRING: Parameter = Parameter::OneOf(&[Type::String]);
const NUMBER_OR_TEXT: Parameter = Parameter::OneOf(&[Type::Int, Type::Uint, Type::Double, Type::String]);

const fn function(name: &'static str, argument: &'static [Parameter; 1], result: Type) -> Signature {
    Signature { name, target: None, arguments: argument, result }
}

const fn method(
    name: &'static str,
    target: Parameter,
    arguments: &'static [Parameter],
    result: Type,
) -> Signature {
    Signature { name, target: Some(target), arguments, result }
}

/// Signatures, each name at most once as a function and once as a method. Methods of optional values are not
/// listed, because their result depends on the type of the value inside.
static SIGNATURES: [Signature; 14] = [
    function("bool", &[Parameter::OneOf(&[Type::Bool, Type::String])], Type::Bool),
    function("bytes", &[Parameter::OneOf(&[Type::Bytes, Type::String])], Type::Bytes),
    function("double", &[NUMBER_OR_TEXT], Type::Double),
    function("dyn", &[Parameter::Any], Type::Dyn),
    function("int", &[NUMBER_OR_TEXT], Type::Int),
    function("size", &[Parameter::Sized], Type::Int),
    function(
        "string",
        &[Parameter::OneOf(&[Type::String, Type::Bool, Type::Int, Type::Uint, Type::Double, Type::Bytes])],
        Type::String,
    ),
    function("type", &[Parameter::Any], Type::Meta),
    function("uint", &[NUMBER_OR_TEXT], Type::Uint),
    method("contains", STRING, &[STRING], Type::Bool),
    method("endsWith", STRING, &[STRING], Type::Bool),
    method("matches", STRING, &[STRING], Type::Bool),
    method("size", Parameter::Sized, &[], Type::Int),
    method("startsWith", STRING, &[STRING], Type::Bool),
];

/// Methods of optional values, such as the value of `headers[?'x-a']`.
pub(super) const OPTIONAL_METHODS: [&str; 4] = ["hasValue", "or", "orValue", "value"];
/// Names of types that can be used as values, e.g. `type(path) == string`.
pub(super) const TYPE_NAMES: [&str; 10] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// Returns the signature of a function or a method.
pub(super) fn find(name: &str, is_method: bool) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|it| it.name == name && it.target.is_some() == is_method)
}

/// Returns the names of all functions and methods.
pub(in crate::expression::engine) fn names() -> impl Iterator<Item = &'static str> + Clone {
    SIGNATURES.iter().map(|it| it.name).chain(OPTIONAL_METHODS)
}

impl Parameter {
    pub(super) fn takes(self, given: &Type) -> bool {
        given.is_open()
            || match self {
                Self::Any => true,
                Self::Sized => {
                    matches!(given, Type::String | Type::Bytes | Type::List(_) | Type::Map(..))
                }
                Self::OneOf(types) => types.contains(given),
            }
    }

    /// Lists the types for a message.
    pub(super) fn listed(self) -> String {
        match self {
            Self::Any => "any type".to_owned(),
            Self::Sized => "string, bytes, list or map".to_owned(),
            Self::OneOf(types) => {
                let names: Vec<String> = types.iter().map(Type::to_string).collect();
                match names.split_last() {
                    Some((last, [])) => last.clone(),
                    Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
                    None => String::new(),
                }
            }
        }
    }
}
