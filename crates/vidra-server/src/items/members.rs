//! The members of an item, read from its schema. So a new member of a model can be chosen and is a column of CSV
//! without further work.

use std::collections::HashMap;

use utoipa::openapi::schema::{AllOf, OneOf};
use utoipa::openapi::{Object, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// The members of an item by path, in the order of the schema.
pub(crate) struct Members(Vec<Member>);

struct Member {
    /// Such as `thumbnails.high.url`.
    path: String,
    /// Whether it has no members of its own.
    is_leaf: bool,
}

/// The depth at which a schema that contains itself would be cut.
const MAX_DEPTH: usize = 16;

impl Members {
    /// The members of items of type `T`.
    pub(crate) fn of<T: ToSchema>() -> Self {
        let mut named = vec![];
        T::schemas(&mut named);
        let named: HashMap<String, RefOr<Schema>> = named.into_iter().collect();
        let mut members = Self(vec![]);
        members.add("", &<T as PartialSchema>::schema(), &named, 0);
        members
    }

    /// Whether items can have a member at this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.iter().any(|member| member.path == path)
    }

    /// The members without those of nested objects.
    pub(crate) fn at_the_top(&self) -> Vec<&str> {
        let paths = self.0.iter().map(|member| member.path.as_str());
        paths.filter(|path| !path.contains('.')).collect()
    }

    /// The paths of the values at or below a path; all if it is empty.
    pub(crate) fn leaves(&self, path: &str) -> impl Iterator<Item = &str> {
        let leaves =
            self.0.iter().filter(|member| member.is_leaf).map(|member| member.path.as_str());
        leaves.filter(move |leaf| {
            let rest = leaf.strip_prefix(path);
            path.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// Adds the members of a schema below `path`. Returns whether there are any.
    fn add(
        &mut self,
        path: &str,
        schema: &RefOr<Schema>,
        named: &HashMap<String, RefOr<Schema>>,
        depth: usize,
    ) -> bool {
        if depth == MAX_DEPTH {
            return false;
        }
        let schema = match schema {
            RefOr::T(schema) => schema,
            RefOr::Ref(reference) => {
                let name = reference.ref_location.rsplit('/').next().unwrap_or_default();
                return named
                    .get(name)
                    .is_some_and(|schema| self.add(path, schema, named, depth + 1));
            }
        };
        match schema {
            Schema::Object(Object { properties, .. }) => {
                for (name, schema) in properties {
                    let path =
                        if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    // The kinds of items of one list have members in common.
                    let known = self.0.iter().position(|member| member.path == path);
                    let index = known.unwrap_or(self.0.len());
                    if known.is_none() {
                        self.0.push(Member { path: path.clone(), is_leaf: true });
                    }
                    self.0[index].is_leaf = !self.add(&path, schema, named, depth + 1);
                }
                !properties.is_empty()
            }
            Schema::AllOf(AllOf { items, .. }) | Schema::OneOf(OneOf { items, .. }) => {
                let added = items.iter().map(|schema| self.add(path, schema, named, depth + 1));
                // All of them have to be added.
                added.filter(|has_members| *has_members).count() > 0
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use vidra::{CommentThread, ListedVideo, Video};

    use super::*;

    #[test]
    fn members_come_from_the_schema() {
        let video = Members::of::<Video>();
        assert!(
            ["id", "title", "thumbnails", "thumbnails.high", "thumbnails.high.url"]
                .iter()
                .all(|path| video.has(path))
        );
        assert_eq!(
            video.leaves("thumbnails.high").collect::<Vec<_>>(),
            ["thumbnails.high.url", "thumbnails.high.width", "thumbnails.high.height"]
        );
        assert_eq!(video.leaves("title").collect::<Vec<_>>(), ["title"]);
        assert_eq!(video.leaves("").next(), Some("id"));
        // A flattened member, and an array, whose items are no members.
        let listed = Members::of::<ListedVideo>();
        assert!(listed.has("channelTitle") && listed.has("position"));
        let thread = Members::of::<CommentThread>();
        assert_eq!(thread.leaves("replies").collect::<Vec<_>>(), ["replies"]);
    }
}
