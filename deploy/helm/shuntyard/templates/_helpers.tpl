{{- define "shuntyard.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "shuntyard.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "shuntyard.labels" -}}
{{ include "shuntyard.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "shuntyard.image" -}}
{{- $repository := required "image.repository: the name of the image in your registry" .Values.image.repository }}
{{- if .Values.image.digest }}{{ printf "%s@%s" $repository .Values.image.digest }}{{ else }}{{ printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) }}{{ end }}
{{- end }}

{{- define "shuntyard.secret" -}}
{{ required "existingSecret: the name of a Secret with DATABASE_URL, REDIS_URL and MASTER_KEY" .Values.existingSecret }}
{{- end }}

{{/* YAML reads numbers as floats, which would print as 2.68435456e+08. */}}
{{- define "shuntyard.text" -}}
{{ if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* As "x-hardened" in docker-compose.yml: no root, no capabilities, nothing to write to but volumes. */}}
{{- define "shuntyard.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "shuntyard.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* The series of this release: of the Service that Prometheus found them by. */}}
{{- define "shuntyard.series" -}}
namespace="{{ .Release.Namespace }}",service="{{ include "shuntyard.name" . }}-metrics"
{{- end }}

{{- define "shuntyard.command" -}}
{{- $flags := list "--no-allocation-site-pretenuring" "--heap-growing-percent=60" "--v8-pool-size=2" }}
{{- $entries := dict "api" (list "src/main.ts") "dispatch" (list "workers/main.ts" "dispatch") "settlement" (list "workers/main.ts" "settlement") }}
{{- $semiSpace := eq . "settlement" | ternary "--max-semi-space-size=4" "--max-semi-space-size=24" }}
{{- concat (list "node" $semiSpace) $flags (get $entries .) | toJson }}
{{- end }}
