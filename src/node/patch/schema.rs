//! How the parts of a Node are merged: the `patchStrategy` and `patchMergeKey` tags of `k8s.io/api/core/v1/types.go`
//! and `k8s.io/apimachinery/pkg/apis/meta/v1/types.go`, as far as they differ from the default.

/// How the fields of one kind of object are merged. A field that is not named has the defaults: an object is merged
/// field by field, a list is replaced whole.
#[derive(Debug)]
pub struct Schema {
    objects: &'static [(&'static str, Schema)],
    lists: &'static [(&'static str, List)],
}

/// How a list is merged.
#[derive(Debug, Clone, Copy)]
pub enum List {
    /// It is replaced whole.
    Atomic,
    /// Its elements are objects, told apart by one field.
    ByKey {
        /// The name of that field.
        key: &'static str,
        /// How two elements of one key are merged.
        element: &'static Schema,
    },
    /// Its elements are scalars of which none is there twice.
    Set,
}

/// An object of which nothing is named.
pub(super) static PLAIN: Schema = Schema {
    objects: &[],
    lists: &[],
};

const BY_TYPE: List = List::ByKey {
    key: "type",
    element: &PLAIN,
};

const BY_UID: List = List::ByKey {
    key: "uid",
    element: &PLAIN,
};

/// `v1.Node`.
pub static NODE: Schema = Schema {
    objects: &[
        (
            "metadata",
            Schema {
                objects: &[],
                lists: &[("finalizers", List::Set), ("ownerReferences", BY_UID)],
            },
        ),
        (
            "spec",
            Schema {
                objects: &[],
                lists: &[("podCIDRs", List::Set)],
            },
        ),
        (
            "status",
            Schema {
                objects: &[],
                lists: &[("addresses", BY_TYPE), ("conditions", BY_TYPE)],
            },
        ),
    ],
    lists: &[],
};

impl Schema {
    /// How the object in this field is merged.
    pub(super) fn object(&self, field: &str) -> &Schema {
        let mut objects = self.objects.iter();
        objects
            .find(|(name, _)| *name == field)
            .map_or(&PLAIN, |(_, schema)| schema)
    }

    /// How the list in this field is merged.
    pub(super) fn list(&self, field: &str) -> List {
        let mut lists = self.lists.iter();
        lists
            .find(|(name, _)| *name == field)
            .map_or(List::Atomic, |(_, list)| *list)
    }
}
