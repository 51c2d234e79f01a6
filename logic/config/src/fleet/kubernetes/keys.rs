//! Keys of `[fleet.NAME.kubernetes]`.

use crate::schema::Kind::Text;
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{DURATION, Section, key};

pub(crate) static KUBERNETES: Section = Section {
    noun: "",
    title: "[fleet.NAME.kubernetes]",
    meaning: "Pods of a Deployment or a StatefulSet, over its scale subresource. All of its pods are the fleet's; nothing else is changed. There is no standby: pods \
              cannot be stopped and woken. Packages have it; of the sources it is built with `--features kubernetes`.",
    keys: &[
        key(
            "deployment",
            Text("a name"),
            Otherwise("`statefulset`"),
            "\"web\"",
            "The Deployment that is scaled. The pod that has drained is the one that goes, by its deletion cost.",
        ),
        key(
            "statefulset",
            Text("a name"),
            Otherwise("`deployment`"),
            "\"web\"",
            "The StatefulSet that is scaled. The pod with the highest number goes, so that one is drained.",
        ),
        key(
            "service",
            Text("a name"),
            Required,
            "\"web\"",
            "The Service whose EndpointSlices say where the pods listen; headless or not.",
        ),
        key(
            "port-name",
            Text("a name"),
            Otherwise("the only one"),
            "\"http\"",
            "The port of the Service by its name. `port` of the fleet counts more.",
        ),
        key(
            "namespace",
            Text("a name"),
            Otherwise("that of the context, or of the pod that Weir runs in"),
            "\"shop\"",
            "Where all of them are.",
        ),
        key(
            "kubeconfig",
            Text("a path"),
            Otherwise("KUBECONFIG, `~/.kube/config`, or the service account of the pod that Weir runs in"),
            "\"/etc/weir/kubeconfig\"",
            "Where the cluster is, and who Weir is there: by a token, a file with one, or a client certificate. Programs (`exec`) are not run for it.",
        ),
        key(
            "context",
            Text("a name"),
            Otherwise("the current one"),
            "\"north\"",
            "Which context of the kubeconfig.",
        ),
        key(
            "start-timeout",
            DURATION,
            Default("\"10m\""),
            "\"30m\"",
            "A pod that has no address so long after it was made has failed.",
        ),
        key("timeout", DURATION, Default("\"10s\""), "\"30s\"", "One request to the API server."),
    ],
};
