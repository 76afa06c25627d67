{{- define "countersign.gatewayContainer" -}}
{{- $container := include "countersign.containerBody" . | fromYaml -}}
{{- range .Values.gateway.listeners -}}
{{-   $port := dict "name" (printf "callers-%d" (int .port)) "containerPort" (int .port) -}}
{{-   $_ := set $container "ports" (append $container.ports $port) -}}
{{- end -}}
{{- toYaml $container -}}
{{- end -}}

{{- define "countersign.serviceAccountName" -}}
{{- with .Values.gateway.serviceAccount -}}
{{- .name | default (ternary (include "countersign.fullname" $) "" .create) -}}
{{- end -}}
{{- end -}}
