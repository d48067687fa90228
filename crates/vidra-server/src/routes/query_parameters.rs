//! Parameters that several routes have, for the document.

use utoipa::PartialSchema;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};

/// Optional texts in the query of a URL, each with its name, its description and an example.
pub(super) fn optional_texts<const N: usize>(table: [(&str, &str, &str); N]) -> Vec<Parameter> {
    let parameter = |(name, description, example): (&str, &str, &str)| {
        ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Query)
            .required(Required::False)
            .description(Some(description))
            .schema(Some(String::schema()))
            .example((!example.is_empty()).then(|| example.into()))
            .build()
    };
    table.map(parameter).into()
}
