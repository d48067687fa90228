//! Moves parts to the components of the document: parameters that several operations have in common, and the variants
//! of unions.

use std::collections::BTreeMap;

use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::{OpenApi, Ref, RefOr, Schema};

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
        // Another parameter may have the name already. Then the part of the interface is in front of it.
        let part = path.split('/').nth(2).map(capitalized).unwrap_or_default();
        let names = [name.clone(), format!("{part}{name}")];
        let is_free = |name: &String| named.get(name).is_none_or(|other| *other == text);
        let Some(name) = names.into_iter().find(is_free).filter(|_| uses[&text] >= 2) else {
            return;
        };
        named.insert(name.clone(), text);
        let reference = Ref::new(format!("#/components/parameters/{name}"));
        shared.insert(name, std::mem::replace(parameter, RefOr::Ref(reference)));
    });
    document.components.get_or_insert_default().parameters.extend(shared);
}

/// Gives the variants of tagged unions names, which some generators of clients need.
pub(super) fn name_variants(document: &mut OpenApi) {
    let schemas = &mut document.components.get_or_insert_default().schemas;
    let mut variants = BTreeMap::new();
    for (name, schema) in schemas.iter_mut() {
        let RefOr::T(Schema::OneOf(union)) = schema else { continue };
        for item in &mut union.items {
            let Some(tag) = tag(item) else { continue };
            let variant = name.clone() + &capitalized(&tag);
            let reference = Ref::from_schema_name(&variant).into();
            variants.insert(variant, std::mem::replace(item, reference));
        }
    }
    schemas.extend(variants);
}

/// The only value of `type` in a variant of a tagged union.
fn tag(variant: &RefOr<Schema>) -> Option<String> {
    let variant = serde_json::to_value(variant).ok()?;
    let values = variant.pointer("/allOf/1/properties/type/enum")?.as_array()?;
    Some(values.first()?.as_str()?.to_owned())
}

fn capitalized(word: &str) -> String {
    let mut word = word.to_owned();
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    word
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
    of_path.map_or_else(|| capitalized(&parameter.name), |it| it.component.to_owned())
}
