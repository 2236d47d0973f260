{{- define "onefold.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "onefold.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "onefold.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "onefold.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "onefold.selector" -}}
app.kubernetes.io/name: {{ include "onefold.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "onefold.labels" -}}
{{ include "onefold.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: onefold
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "onefold.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "onefold.coordinatorService" -}}
{{ include "onefold.fullname" . }}-coordinator.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "onefold.coordinatorAddress" -}}
{{- if .Values.worker.coordinator -}}
{{ .Values.worker.coordinator }}
{{- else -}}
{{ include "onefold.coordinatorService" . }}:{{ .Values.coordinator.service.port }}
{{- end -}}
{{- end -}}

{{- define "onefold.tokenSecret" -}}
{{ .Values.worker.existingSecret | default (printf "%s-join" (include "onefold.fullname" .)) }}
{{- end -}}

{{- /* Wrong in a way that the schema cannot tell. */ -}}
{{- define "onefold.check" -}}
{{- if and .Values.worker.enabled (not .Values.coordinator.enabled) (not .Values.worker.coordinator) -}}
{{- fail "worker.coordinator: without a coordinator of this chart, say where the workers' is" -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled (not .Values.web.enabled) -}}
{{- fail "serviceMonitor.enabled: /metrics is part of web.enabled" -}}
{{- end -}}
{{- if and .Values.web.certManager.enabled (not .Values.web.certManager.issuerRef.name) -}}
{{- fail "web.certManager.issuerRef.name: which issuer?" -}}
{{- end -}}
{{- end -}}
