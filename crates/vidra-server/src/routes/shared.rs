//! Moves parameters that several operations have in common to the components of the document.

use std::collections::BTreeMap;

use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, Ref, RefOr};

use super::document::operations;
use super::patterns;

/// Replaces each parameter that occurs twice or more by a reference. A new operation with the same parameter needs
/// nothing else.
pub(super) fn share_parameters(document: &mut OpenApi) {
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    each_parameter(document, |_, parameter| {
        if let RefOr::T(parameter) = parameter {
            *uses.entry(text(parameter)).or_default() += 1;
        }
    });
    // The names of the components that exist, with their parameters as text.
    let mut named: BTreeMap<String, String> = BTreeMap::new();
    let mut shared: BTreeMap<String, RefOr<Parameter>> = BTreeMap::new();
    each_parameter(document, |path, parameter| {
        let RefOr::T(inline) = &*parameter else { return };
        let (name, text) = (component(path, inline), text(inline));
        let is_same = |other: &String| *other == text;
        // Another parameter may have the name already. Then this one stays inline.
        if uses[&text] < 2 || !named.get(&name).is_none_or(is_same) {
            return;
        }
        named.insert(name.clone(), text);
        let reference = Ref::new(format!("#/components/parameters/{name}"));
        shared.insert(name, std::mem::replace(parameter, RefOr::Ref(reference)));
    });
    document.components.get_or_insert_default().parameters.extend(shared);
}

fn each_parameter(document: &mut OpenApi, mut each: impl FnMut(&str, &mut RefOr<Parameter>)) {
    for (path, item) in &mut document.paths.paths {
        for (_, operation) in operations(item) {
            operation.parameters.iter_mut().flatten().for_each(|it| each(path, it));
        }
    }
}

fn text(parameter: &Parameter) -> String {
    serde_json::to_string(parameter).unwrap_or_default()
}

/// The name of a component: that of the kind of identifier, or that of the query parameter.
fn component(path: &str, parameter: &Parameter) -> String {
    let of_path = match parameter.parameter_in {
        ParameterIn::Path => patterns::path_parameter(path),
        _ => None,
    };
    if let Some(it) = of_path {
        return it.component.to_owned();
    }
    let mut name = parameter.name.clone();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    name
}
