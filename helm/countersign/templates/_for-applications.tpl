{{/*
Templates that an application's chart includes, each with the context .Subcharts.countersign; also countersign.volumes and
countersign.annotations of _pod.tpl. README.md, "As a sidecar", shows them in use.
*/}}

{{/* An item of initContainers: starts before the application's containers, ends after them (Kubernetes 1.29 or later). */}}
{{- define "countersign.initContainer" -}}
{{- include "countersign.refuse" . -}}
{{- if not (semverCompare ">=1.29-0" .Capabilities.KubeVersion.Version) -}}
{{-   fail (printf "countersign: Kubernetes %s has no native sidecars (1.29 has): include countersign.container below containers instead" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
- {{ include "countersign.containerBody" . | indent 2 | trim }}
  restartPolicy: Always
{{- end -}}

{{/* An item of containers, for older clusters. Not for Jobs, which would never end with it. */}}
{{- define "countersign.container" -}}
{{- include "countersign.refuse" . -}}
{{- if eq (include "countersign.seconds" ((.Values.config.drain | default dict).min | default "0s")) "0" -}}
{{-   fail "countersign: a sidecar below containers gets SIGTERM together with the application: set config.drain.min to the time for which the application still calls" -}}
{{- end -}}
- {{ include "countersign.containerBody" . | indent 2 | trim }}
{{- end -}}

{{/* The number for terminationGracePeriodSeconds: the application's own time, then Countersign's. */}}
{{- define "countersign.gracePeriodSeconds" -}}
{{- include "countersign.drainSeconds" . | add .Values.sidecar.applicationSeconds -}}
{{- end -}}

{{/* An item of the application's env: the URL that it calls. */}}
{{- define "countersign.env" -}}
{{- $config := include "countersign.configuration" . | fromYaml -}}
{{- $listener := first $config.listeners -}}
{{- $bind := $listener.bind -}}
{{- if hasPrefix "unix:" $bind -}}
{{-   fail (printf "countersign: config.listeners begins with %s, which no URL can name: put a listener with a port first, or leave countersign.env out" $bind) -}}
{{- end -}}
- name: {{ .Values.sidecar.urlVariable }}
  value: {{ include "countersign.address" $listener }}
{{- end -}}

{{/* The address of a listener for its own pod. */}}
{{- define "countersign.address" -}}
{{- if not (hasPrefix "unix:" .bind) }}{{ ternary "https" "http" (hasKey . "mtls") }}://{{ end -}}
{{- regexReplaceAll `^(0\.0\.0\.0|\[::\])?:` .bind "127.0.0.1:" -}}
{{- end -}}
