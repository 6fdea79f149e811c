export function withProgress<T>(label: string, step: () => Promise<T>): Promise<T>
