import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createConsoleQueryClient } from './app/query-client.ts'
import { createConsoleRouter } from './app/router.tsx'
import { applyTheme } from './app/theme.tsx'
import './styles/console.css'

applyTheme()

const queryClient = createConsoleQueryClient()
const router = createConsoleRouter(queryClient)

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
