import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject'
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule'
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { Job } from 'kubernetes-models/batch/v1/Job'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap'
import { Service } from 'kubernetes-models/v1/Service'
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount'
import type { Manifest } from './helm.ts'

const MODELS = [
  ...[ConfigMap, Deployment, Job, NetworkPolicy, PodDisruptionBudget, Service, ServiceAccount],
  ...[PrometheusRule, ScaledObject, ServiceMonitor],
]

/**
 * What the schema of its kind has against a manifest: wrong types, missing fields, and fields that it does not know.
 * The schemas are compiled to functions that accept unknown fields; a field that such a function never reads is unknown.
 */
export function problemsOf(manifest: Manifest): string[] {
  const model = MODELS.find(
    ({ apiVersion, kind }) => apiVersion === manifest.apiVersion && kind === manifest.kind,
  )
  if (!model) return [`no schema of ${manifest.apiVersion} ${manifest.kind}`]
  const read = new Map<object, Set<string>>()
  try {
    model.prototype.validate.call(watched(manifest, read))
  } catch (error) {
    return [(error as Error).message]
  }
  return unreadFields(manifest, read, '')
}

/** The object, with a note in `read` of every field that is read from it and from the objects in it. */
function watched<T>(value: T, read: Map<object, Set<string>>): T {
  if (typeof value !== 'object' || value === null) return value
  const fields = read.get(value) ?? new Set()
  read.set(value, fields)
  return new Proxy(value, {
    get(target, field) {
      fields.add(String(field))
      return watched(Reflect.get(target, field), read)
    },
  })
}

function unreadFields(value: unknown, read: Map<object, Set<string>>, path: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  const fields = read.get(value)
  return Object.entries(value).flatMap(([name, inner]) => {
    const at = `${path}/${name}`
    return fields?.has(name) ? unreadFields(inner, read, at) : [`unknown field ${at}`]
  })
}
